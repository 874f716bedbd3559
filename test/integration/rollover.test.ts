// CA rollover through the doors: a directory moves to another CA cert, old leaves are renewed bit by bit, and the old CA goes
// on saying what it revoked until the last of them has ended.
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { certIdText } from '../../src/core/cert-id.ts';
import { createSigningCert } from '../../src/core/create-signing-cert.ts';
import { formatId, newUuid, parseId } from '../../src/core/ids.ts';
import { claimRemovedKeys, removeKey } from '../../src/core/removed-keys.ts';
import type { SingleSigningCertView } from '../../src/core/signing-certs.ts';
import { isSignedBy, parseCertificate } from '../../src/x509/certificate.ts';
import { readCertificateChainPem, readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { testAcme } from '../support/acme.ts';
import { testApi } from '../support/api-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { admin } from '../support/given.ts';
import { buildDueCrls, crlOf, reasonOn } from '../support/given-crl.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { aRequest, dns } from '../support/given-ready-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { ocspRequest, readOcspAnswer } from '../support/ocsp.ts';
import { testPublish } from '../support/publish.ts';

const NAME = 'shop.corp.example';

/** A directory on an old CA cert, a new one to move to, a client, and all doors. */
async function given({ rolloverDays = 7 }: { readonly rolloverDays?: number } = {}) {
  const opened = new AsyncDisposableStack();
  const acme = opened.use(
    await testAcme({ directory: { allowed_dns_identifiers: ['**'], rollover_days: rolloverDays, cert_max_days: 90 } }),
  );
  const api = opened.use(await testApi({ of: acme }));
  const publish = opened.use(await testPublish({ of: acme }));
  const { ca } = acme;
  const viewOf = async (id: string) => (await api.get(`/v1/signing_certs/${formatId('scrt', id)}`)).body;
  const old = await viewOf(acme.directory.fields.signing_cert_id);
  const young = await givenIntermediate(ca, {
    name: 'Young Issuing',
    parent: { id: parseId('scrt', old.signing_cert_id) ?? '' },
  });
  await buildDueCrls(ca);
  const client = await acme.account({ orderValidations: 'auto_approve' });
  const issue = async (order?: Awaited<ReturnType<typeof client.newOrder>>) => {
    const { json } = order ?? (await client.newOrder([NAME]));
    const done = await client.finalize(json, await aRequest({ names: [dns(NAME)] }));
    const url: string = done.json.certificate;
    const [leaf, ...chain] = readCertificateChainPem((await client.post(url)).text);
    if (leaf === undefined) throw new Error('no certificate was issued');
    return { id: url.slice(url.lastIndexOf('/') + 1), url, leaf, chain };
  };
  const directoryPath = `/v1/directories/${formatId('dir', acme.directory.id)}`;
  return {
    ca,
    acme,
    api,
    publish,
    client,
    issue,
    old: { ...old, uuid: parseId('scrt', old.id) ?? '' },
    young,
    move: (to: Pick<SingleSigningCertView, 'id'> = young) =>
      api.put(directoryPath, { directory: { signing_cert_id: formatId('scrt', to.id) } }),
    rolloverOf: async (id: string) => (await api.get(`/v1/signing_certs/${id}/rollover`)).body,
    windowOf: async ({ leaf }: Pick<Awaited<ReturnType<typeof issue>>, 'leaf'>) => {
      const { authorityKeyIdentifier: keyIdentifier = Buffer.alloc(0) } = leaf.extensions;
      const certId = certIdText({ keyIdentifier, serial: leaf.serial });
      const { json } = await client.get(`${await client.url('renewalInfo')}/${certId}`);
      return { start: Date.parse(json.suggestedWindow.start), end: Date.parse(json.suggestedWindow.end) };
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

describe('when the CA of a directory changes', () => {
  test('new orders and orders that are open are signed by the new one at once, and chains follow', async () => {
    await using world = await given();
    const before = await world.issue();
    const open = await world.client.newOrder([NAME]);

    expect((await world.move()).status).toBe(200);
    const [opened, fresh] = [await world.issue(open), await world.issue()];

    const [old, young] = [world.old.public_cert, world.young.publicCert ?? ''].map((pem) => readCertificatePem(pem));
    for (const { leaf, chain } of [opened, fresh]) {
      expect(await isSignedBy(leaf, young?.spki ?? Buffer.alloc(0))).toBe(true);
      expect(chain.map(({ der }) => der)).toEqual([young?.der]);
    }
    const downloaded = readCertificateChainPem((await world.client.post(before.url)).text);
    expect(downloaded.map(({ der }) => der)).toEqual([before.leaf.der, old?.der]);
    const { body } = await world.api.get(`/v1/directories/${formatId('dir', world.acme.directory.id)}`);
    expect(body.cert_chain).toEqual([world.young.publicCert]);
  });

  test('ARI-4: renewals of its leaves are spread over rollover_days, those of new leaves are not moved', async () => {
    await using world = await given({ rolloverDays: 10 });
    const certs = [];
    for (let n = 0; n < 12; n++) certs.push(await world.issue());
    const usual = await Promise.all(certs.map(world.windowOf));
    const moved = world.ca.clock.now().getTime();
    await world.move();
    const fresh = await world.issue();

    const windows = await Promise.all(certs.map(world.windowOf));

    const days = windows.map(({ start }) => (start - moved) / DAY_MS);
    expect(days.every((day) => day >= 0 && day < 10)).toBe(true);
    // Twelve at random that all fall into one half would be one run in two thousand; serial numbers are random.
    expect(Math.max(...days) - Math.min(...days)).toBeGreaterThan(2);
    expect(windows.every(({ start }, at) => start <= (usual[at]?.start ?? 0))).toBe(true);
    expect(windows.every(({ start, end }) => start < end)).toBe(true);
    expect((await world.windowOf(fresh)).start - moved).toBeGreaterThan(50 * DAY_MS);
  });

  test('ARI-4: with rollover_days of 0 no renewal is pulled forward', async () => {
    await using world = await given({ rolloverDays: 0 });
    const cert = await world.issue();
    const usual = await world.windowOf(cert);

    await world.move();

    expect(await world.windowOf(cert)).toEqual(usual);
  });

  test('ARI-4: a revoked CA pulls renewals forward from its revocation on, before the directory has moved', async () => {
    await using world = await given({ rolloverDays: 10 });
    const cert = await world.issue();
    const revoked = await world.api.post(`/v1/signing_certs/${world.old.id}/revocation`, {
      signing_cert: { reason: 4 },
    });
    expect(revoked.status).toBe(200);

    const days = ((await world.windowOf(cert)).start - world.ca.clock.now().getTime()) / DAY_MS;

    expect(days).toBeGreaterThan(-0.001);
    expect(days).toBeLessThan(10);
  });

  test('the old CA counts down its leaves, publishes until the last has ended, and can then be deleted', async () => {
    await using world = await given();
    const { ca, old } = world;
    const [revoked, kept] = [await world.issue(), await world.issue()];
    expect(await world.rolloverOf(old.id)).toEqual({ live_leaves: 2, at_least: false });
    await world.move();
    const remove = () => world.api.delete(`/v1/signing_certs/${old.id}`);

    // A revocation long after the move reaches its CRL and OCSP as before.
    ca.clock.advance(20 * DAY_MS);
    await world.api.delete(`/v1/issued_certs/${revoked.id}`, { issued_cert: { reason: 4 } });
    await buildDueCrls(ca);

    expect(await world.rolloverOf(old.id)).toEqual({ live_leaves: 1, at_least: false });
    expect((await remove()).body.code).toBe('in_use');
    const published = await world.publish.get(`/crl/${old.id}.crl`);
    expect(published.status).toBe(200);
    expect(reasonOn(await crlOf(ca, { id: old.uuid }), revoked.leaf.serial)).toBe('superseded');
    const request = ocspRequest(old.public_cert, [revoked.leaf.serial, kept.leaf.serial]);
    const { bytes } = await world.publish.post(`/ocsp/${old.id}`, 'application/ocsp-request', request);
    expect((await readOcspAnswer(bytes, old.public_cert)).statuses).toEqual(['revoked: superseded', 'good']);

    ca.clock.advance(90 * DAY_MS);
    expect(await world.rolloverOf(old.id)).toEqual({ live_leaves: 0, at_least: false });
    expect((await remove()).status).toBe(202);
    for (const claim of await claimRemovedKeys(ca, 20, 60_000)) await removeKey(ca, claim);
    expect((await world.publish.get(`/crl/${old.id}.crl`)).status).toBe(200);
    expect((await world.api.get(`/v1/signing_certs/${old.id}/rollover`)).status).toBe(404);
  });
});

describe('GET /v1/signing_certs/{id}/rollover', () => {
  test('counts what the CA signed itself, neither the revoked nor what others signed', async () => {
    await using world = await given();
    await world.issue();
    const other = await world.issue();
    await world.api.delete(`/v1/issued_certs/${other.id}`);

    expect(await world.rolloverOf(world.old.id)).toEqual({ live_leaves: 1, at_least: false });
    expect(await world.rolloverOf(world.old.signing_cert_id)).toEqual({ live_leaves: 0, at_least: false });
    expect(await world.rolloverOf(formatId('scrt', world.young.id))).toEqual({ live_leaves: 0, at_least: false });
  });

  test('counts to a hundred thousand, and then says that there are more', async () => {
    await using world = await given();
    const { ca, acme, old } = world;
    const account = { acmeKeyId: world.client.accountId, directoryId: acme.directory.id, signingCertId: old.uuid };
    const { id } = await givenIssuedCert(ca, account);
    const copies = (count: number) =>
      ca.database.db.transaction().execute(async (tx) => {
        await sql`select set_config('session_replication_role', 'replica', true)`.execute(tx);
        await sql`
          insert into issued_certs (id, order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
                                    serial, key_thumbprint, subjects, der)
          select gen_random_uuid(), order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
                 uuid_send(gen_random_uuid()), key_thumbprint, subjects, '\\x00'
            from issued_certs, generate_series(1, ${sql.lit(count)}) where id = ${id}`.execute(tx);
      });

    await copies(99_999);
    expect(await world.rolloverOf(old.id)).toEqual({ live_leaves: 100_000, at_least: false });
    await copies(1);
    expect(await world.rolloverOf(old.id)).toEqual({ live_leaves: 100_000, at_least: true });
  });

  test('is for admins, and of CA certs that are there', async () => {
    await using world = await given();
    const path = `/v1/signing_certs/${world.old.id}/rollover`;

    expect((await world.api.get(path, { as: 'write' })).status).toBe(403);
    expect((await world.api.get(path, { as: 'nobody' })).status).toBe(401);
    const never = formatId('scrt', newUuid(world.ca.clock.now()));
    expect((await world.api.get(`/v1/signing_certs/${never}/rollover`)).status).toBe(404);
    expect((await world.api.get(`${path}?limit=5`)).status).toBe(400);
  });
});

test('CRT-2: a root that an older one has cross-signed gives clients a chain to each of them', async () => {
  await using world = await given();
  const { ca, acme } = world;
  const older = await foreignCa({ subject: { CN: 'Older Root' } });
  const newer = await foreignCa({ subject: { CN: 'Newer Root' } });
  const crossed = await foreignCa({ subject: { CN: 'Newer Root' }, parent: older, key: newer.key });
  const offline = { key_availability: 'offline' } as const;
  for (const root of [older, newer])
    await createSigningCert(ca, admin, { ...offline, cert_type: 'root', public_cert: root.publicCert });
  const cross = await createSigningCert(ca, admin, {
    ...offline,
    cert_type: 'intermediate',
    public_cert: crossed.publicCert,
  });
  const below = await foreignCa({ subject: { CN: 'Issuing' }, parent: newer });
  const issuer = await createSigningCert(ca, admin, {
    cert_type: 'intermediate',
    key_availability: 'online',
    public_cert: below.publicCert,
    private_key: below.privateKey,
  });
  const directory = await givenDirectory(ca, { issuer, allowed_dns_identifiers: ['**'] });
  const client = await acme.account({ orderValidations: 'auto_approve', directory });
  const { json } = await client.newOrder([NAME]);
  const done = await client.finalize(json, await aRequest({ names: [dns(NAME)] }));
  const url: string = done.json.certificate;

  const [usual, other] = [await client.post(url), await client.post(`${url}/1`)];

  expect(usual.all('link')).toContain(`<${url}/1>;rel="alternate"`);
  expect(other.all('link')).toContain(`<${url}>;rel="alternate"`);
  const ders = (text: string) => readCertificateChainPem(text).map(({ der }) => der);
  const [leaf] = ders(usual.text);
  // Which of the two CA certs of one name and key an intermediate hangs below decides which chain is the usual one.
  const chains = [ders(usual.text), ders(other.text)].sort((a, b) => a.length - b.length);
  expect(chains).toEqual([
    [leaf, below.der],
    [leaf, below.der, crossed.der],
  ]);
  expect(parseCertificate(leaf ?? Buffer.alloc(0)).issuer.der).toEqual(below.subject);
  expect(cross.signingCertId).toBeDefined();
});
