// The plans that a new installation makes at its first order and keeps: each row is found by its key, as it has to be when
// there are very many.
import { beforeAll, expect, test } from 'vitest';
import { certIdText } from '../../src/core/cert-id.ts';
import { type ChallengeTry, validateChallenge } from '../../src/core/validate-challenge.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import { type FirstPlan, firstPlansOf, keyedWays, scansBesides } from '../support/first-plans.ts';
import { aRequest, dns } from '../support/given-ready-order.ts';

const MINUTE_MS = 60_000;
const NAME = 'shop.corp.example';

let plans: readonly FirstPlan[];
beforeAll(async () => {
  await using acme = await testAcme({
    prober: async ({ identifier }) =>
      identifier.value === NAME
        ? { outcome: 'valid' }
        : { outcome: 'failed', type: 'connection', detail: 'Nobody is there.' },
    caa: async (name) => name.split('.').map((_, at, labels) => ({ name: labels.slice(at).join('.'), records: [] })),
  });
  const { ca } = acme;
  const { signal } = new AbortController();
  using _employed = ca.ownWorker.employ(() => ({
    leaseMs: MINUTE_MS,
    hold: (work) => work(signal),
    run: (claim: ChallengeTry) => validateChallenge(ca, claim, signal),
  }));
  plans = await firstPlansOf(acme.databaseUrl, () => live(acme));
});

test('every statement of a client, from its registration to a revocation, finds each row by its key', () => {
  expect(scansBesides(plans, keyedWays)).toEqual([]);
  expect(plans.length).toBeGreaterThan(12);
});

async function live(acme: TestAcme): Promise<void> {
  const client = acme.client();
  const respond = async ({ authorizations }: { readonly authorizations: readonly string[] }) => {
    const { challenges } = (await client.post(authorizations[0] ?? '')).json;
    await client.post(challenges.find(({ type }: { type: string }) => type === 'http-01').url, {});
  };
  await client.register();
  const { json: order, headers } = await client.newOrder([NAME]);
  await respond(order);
  expect((await client.post(headers.location ?? '')).json.status).toBe('ready');
  const done = await client.finalize(order, await aRequest({ names: [dns(NAME)] }));
  const certificate = await client.post(done.json.certificate, '', { headers: { Accept: 'application/pkix-cert' } });
  const { serial, extensions } = parseCertificate(certificate.bytes);
  const keyIdentifier = extensions.authorityKeyIdentifier ?? expect.fail('it has no AKI');
  const certId = certIdText({ keyIdentifier, serial });
  expect((await client.get(`${await client.url('renewalInfo')}/${certId}`)).status).toBe(200);
  const renewed = await client.newOrder([NAME], { replaces: certId });
  expect(renewed.status).toBe(201);
  const revocation = { certificate: certificate.bytes.toString('base64url'), reason: 4 };
  const left = await client.newOrder(['left.corp.example']);
  await respond(left.json);
  const answers = [
    await client.post(await client.url('revokeCert'), revocation),
    await client.post(client.kid ?? '', { contact: ['mailto:ops@corp.example'] }),
    await client.post(left.json.authorizations[0], { status: 'deactivated' }),
    await client.register({ onlyReturnExisting: true }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
}
