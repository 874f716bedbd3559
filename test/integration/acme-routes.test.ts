// The inventory of the ACME door, made from its route table: what every row refuses before its handler is asked.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AcmeRoute } from '../../src/acme/route.ts';
import { acmeRoutes } from '../../src/acme/routes.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import { type AcmeAnswer, type AcmeClient, anAcmeKey, type Sent } from '../support/acme-client.ts';
import { admin } from '../support/given.ts';

let acme: TestAcme;
let client: AcmeClient & { readonly kid: string };
beforeAll(async () => {
  acme = await testAcme();
  client = await acme.account();
});
afterAll(() => acme[Symbol.asyncDispose]());

const urlOf = ({ path }: AcmeRoute): string =>
  `https://acme.corp.example${path}`
    .replace(':slug', acme.directory.fields.slug)
    .replace(/:(chain|certId)/, '1')
    .replace(':id', 'x');
const problem = ({ status, json }: AcmeAnswer) => [
  status,
  String(json?.type).replace(/^urn:ietf:params:acme:error:/, ''),
];
const signedBy = (signer: AcmeRoute['signer']) =>
  acmeRoutes.filter((row) => row.signer === signer).map((row) => [row.path, row] as const);

test('SEC-12: without a signature there are the directory, nonces and renewal information, and nothing else', () => {
  expect(signedBy('none').map(([path]) => path)).toEqual([
    '/acme/:slug/directory',
    '/acme/:slug/new-nonce',
    '/acme/:slug/renewal-info/:certId',
  ]);
  expect(signedBy('newKey').map(([path]) => path)).toEqual(['/acme/:slug/new-account']);
  expect(signedBy('accountOrCertificateKey').map(([path]) => path)).toEqual(['/acme/:slug/revoke-cert']);
});

describe.each(acmeRoutes.filter(({ signer }) => signer !== 'none').map((row) => [row.path, row] as const))(
  '%s',
  (_, row) => {
    const post = (payload: unknown = {}, sent: Sent = {}) => client.post(urlOf(row), payload, sent);

    test('HTTP-5: is not read by GET', async () => {
      expect(problem(await client.get(urlOf(row)))).toEqual([405, 'malformed']);
    });

    test('SEC-12: is refused to who signs nothing, wrongly, or as nobody', async () => {
      const withJwk = row.signer === 'newKey';
      const unsigned = await post({}, { body: () => '{}' });
      const wrong = await post({}, { withJwk, body: (jws) => ({ ...jws, signature: 'AAAA' }) });
      const nobody = await post({}, { kid: `${client.kid}x` });
      expect([unsigned, wrong, nobody].map(problem)).toEqual([
        [400, 'malformed'],
        [400, 'malformed'],
        [400, withJwk ? 'malformed' : 'accountDoesNotExist'],
      ]);
      expect(wrong.json.detail).toContain('signature');
    });
  },
);

describe.each(signedBy('account'))('%s', (_, row) => {
  test('JWS-9, JWS-17, ACC-11: is for the key of a valid account alone', async () => {
    const ask = async (sent: Sent, by: AcmeClient = client) => problem(await by.post(urlOf(row), {}, sent));
    expect(await ask({ withJwk: true })).toEqual([400, 'malformed']);
    expect(await ask({ key: anAcmeKey() })).toEqual([400, 'malformed']);
    const ended = await acme.account();
    await revokeAcmeKey(acme.ca, admin, ended.accountId);
    expect(await ask({}, ended)).toEqual([401, 'unauthorized']);
  });
});

const read = signedBy('account').filter(([, row]) => !('json' in row));

test.each(read)('HTTP-7: %s is read by the empty payload, and {} is none', async (_, row) => {
  const answer = await client.post(urlOf(row), {});
  expect(problem(answer)).toEqual([400, 'malformed']);
  expect(answer.json.detail).toContain('POST-as-GET');
});
