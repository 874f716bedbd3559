// When CA certs end, as metrics tell it.
import { expect, test } from 'vitest';
import { formatId } from '../../src/core/ids.ts';
import { tellSigningCertEnds } from '../../src/core/signing-cert-ends.ts';
import { testCa } from '../support/ca.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';

test('the end of a CA cert is told, that of a deleted or revoked one no more', async () => {
  await using world = await testCa();
  const { ca, metrics } = world;
  const root = await givenRoot(ca);
  const anIntermediate = () => givenIntermediate(ca, { parent: root });
  const [deleted, revoked] = [await anIntermediate(), await anIntermediate()];
  const told = async (): Promise<readonly string[]> => {
    await tellSigningCertEnds(ca);
    const lines = (await metrics()).matchAll(
      /^acmery_signing_cert_expiry_timestamp_seconds\{signing_cert="(\w+)"\} (\d+)$/gm,
    );
    return [...lines].flatMap(([, id = '', end]) => (Number(end) * 1_000 > ca.clock.now().getTime() ? [id] : []));
  };
  const idsOf = (...certs: readonly { readonly id: string }[]) => certs.map(({ id }) => formatId('scrt', id)).sort();
  expect([...(await told())].sort()).toEqual(idsOf(root, deleted, revoked));

  const now = ca.clock.now();
  const { db } = ca.database;
  await db.updateTable('signing_certs').set({ deleted_at: now }).where('id', '=', deleted.id).execute();
  await db
    .updateTable('signing_certs')
    .set({ state: 'revoked', revoked_at: now, reason: 4 })
    .where('id', '=', revoked.id)
    .execute();

  expect(await told()).toEqual(idsOf(root));
});
