// What is heard, and by whom, when the key of the CA is not where it should be.
import { expect, test } from 'vitest';
import { testAcme } from '../support/acme.ts';
import { aRequest, dns } from '../support/given-ready-order.ts';

const NAME = 'shop.corp.example';

test('the client hears that it may try again, and the log says which key is missing where', async () => {
  await using acme = await testAcme();
  const client = await acme.account({ orderValidations: 'auto_approve' });
  const { json: order } = await client.newOrder([NAME]);
  const { key_ref: ref } = await acme.ca.database.db
    .selectFrom('signing_certs')
    .select('key_ref')
    .where('id', '=', acme.directory.fields.signing_cert_id)
    .executeTakeFirstOrThrow();
  await acme.ca.keys.remove(ref ?? '');

  const { status, headers, json } = await client.finalize(order, await aRequest({ names: [dns(NAME)] }));

  expect({ status, detail: json.detail }).toEqual({
    status: 503,
    detail: 'The CA cannot use its keys for the moment. Try again.',
  });
  expect(headers['retry-after']).toMatch(/^[1-5]$/);
  expect(acme.logLines.filter((line) => line.includes(`The key ${ref} is not in /`))).toMatchObject([
    expect.stringContaining(json.requestId),
  ]);
});
