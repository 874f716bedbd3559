// Renewal information and orders that replace certificates, over HTTPS.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certIdText } from '../../src/core/cert-id.ts';
import { parseId } from '../../src/core/ids.ts';
import { revokeIssuedCert } from '../../src/core/issued-certs.ts';
import { cancelOrder } from '../../src/core/orders.ts';
import { removeEnded } from '../../src/core/retention.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import { acmeUrl } from '../../src/core/urls.ts';
import { readCertificateChainPem } from '../../src/x509/certificate-pem.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import type { AcmeClient } from '../support/acme-client.ts';
import { DAY_MS } from '../support/clock.ts';
import { admin } from '../support/given.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { type GivenCert, givenIssuedCert } from '../support/given-issued-cert.ts';
import { aRequest, dns } from '../support/given-ready-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { waitingQueries } from '../support/waiting.ts';

const URN = 'urn:ietf:params:acme:error:';

let acme: TestAcme;
let client: Client;
let renewalInfo: string;
beforeAll(async () => {
  acme = await testAcme({ directory: { allowed_dns_identifiers: ['**.corp.example'] } });
  client = await acme.account({ orderValidations: 'auto_approve' });
  renewalInfo = await client.url('renewalInfo');
});
afterAll(() => acme[Symbol.asyncDispose]());

type Client = AcmeClient & { readonly kid: string };
const idIn = (url: string) => url.slice(url.lastIndexOf('/') + 1);

/** A certificate of this client, with the CertID that it has in renewal information. */
async function certified(of: Client = client, names = ['shop.corp.example'], directory = acme.directory) {
  const account = {
    acmeKeyId: parseId('acmk', idIn(of.kid)) ?? '',
    directoryId: directory.id,
    signingCertId: directory.fields.signing_cert_id,
  };
  const cert = await givenIssuedCert(acme.ca, account, { names });
  return { ...cert, certId: await certIdOf(cert, account.signingCertId) };
}

async function certIdOf({ serial }: Pick<GivenCert, 'serial'>, signingCertId: string): Promise<string> {
  const query = acme.ca.database.db.selectFrom('signing_certs').select('ski').where('id', '=', signingCertId);
  const { ski } = await query.executeTakeFirstOrThrow();
  return certIdText({ keyIdentifier: ski ?? Buffer.alloc(0), serial });
}

const replacing = (certId: string, names = ['shop.corp.example'], by: Client = client) =>
  by.newOrder(names, { replaces: certId });
/** The same client, without nonces from before the clock was moved. */
const afresh = (): Client => Object.assign(acme.client({ key: client.key, kid: client.kid }), { kid: client.kid });
const linkOf = async ({ id }: { readonly id: string }) =>
  (
    await acme.ca.database.db
      .selectFrom('issued_certs')
      .select('replaced_by')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  ).replaced_by;

describe('renewalInfo', () => {
  test('ARI-1, G-32: is read without a signature, has Retry-After and may be kept as long', async () => {
    const { certId } = await certified();
    const answer = await acme.client().get(`${renewalInfo}/${certId}`);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      suggestedWindow: { start: '2026-07-15T14:23:59Z', end: '2026-07-17T09:35:59Z' },
    });
    const seconds = Number(answer.headers['retry-after']);
    expect(seconds).toBeGreaterThanOrEqual(0.75 * 21_600);
    expect(seconds).toBeLessThanOrEqual(1.25 * 21_600);
    expect(answer.headers['cache-control']).toBe(`public, max-age=${seconds}`);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });

  test('NON-7: a reply that caches may keep has no nonce, which they would hand out again', async () => {
    const { certId } = await certified();
    expect((await client.get(`${renewalInfo}/${certId}`)).all('replay-nonce')).toEqual([]);
    expect((await client.get(`${renewalInfo}/AA.AQ`)).all('replay-nonce')).toHaveLength(1);
    expect((await client.post(`${renewalInfo}/${certId}`)).all('replay-nonce')).toHaveLength(1);
  });

  test('ARI-6: Retry-After is not the same for all', async () => {
    const { certId } = await certified();
    const waits = await Promise.all(
      Array.from({ length: 20 }, async () => (await client.get(`${renewalInfo}/${certId}`)).headers['retry-after']),
    );
    expect(new Set(waits).size).toBeGreaterThan(1);
  });

  test('ARI-6: of a certificate of hours it comes sooner, and never within a minute', async () => {
    const { certId, id } = await certified();
    const { db } = acme.ca.database;
    const lives = async (ms: number) => {
      const not_after = new Date(acme.ca.clock.now().getTime() + ms - 1_000);
      const copy = await db.selectFrom('issued_certs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      await db.deleteFrom('issued_certs').where('id', '=', id).execute();
      await db
        .insertInto('issued_certs')
        .values({ ...copy, not_after })
        .execute();
      return Number((await client.get(`${renewalInfo}/${certId}`)).headers['retry-after']);
    };
    expect(await lives(0.3 * DAY_MS)).toBeLessThanOrEqual(2_700);
    expect(await lives(60_000)).toBe(60);
  });

  test('ARI-5: what is no CertID is 400; one of nobody, of another directory or of another key is 404', async () => {
    const { certId, serial } = await certified();
    const other = await givenDirectory(acme.ca, { registration_mode: 'open' });
    const atOther = acmeUrl(acme.ca.urls, other.fields.slug, 'renewalInfo');
    expect((await client.get(`${renewalInfo}/${certId}=`)).json).toMatchObject({
      status: 400,
      type: `${URN}malformed`,
    });
    const otherKey = await certIdOf({ serial }, other.fields.signing_cert_id);
    for (const url of [`${renewalInfo}/AA.AQ`, `${atOther}/${certId}`, `${renewalInfo}/${otherKey}`]) {
      const answer = await client.get(url);
      expect(answer.json, url).toMatchObject({ status: 404, type: `${URN}malformed` });
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  test('REV-7: of a revoked certificate the window is in the past from the same moment', async () => {
    const cert = await certified();
    await revokeIssuedCert(acme.ca, admin, cert.id, 'key_compromise');
    const { json } = await client.get(`${renewalInfo}/${cert.certId}`);
    expect(Date.parse(json.suggestedWindow.end)).toBeLessThan(acme.ca.clock.now().getTime());
  });

  test('ARI-4: a new issuer of the directory pulls the windows of its certificates forward', async () => {
    const directory = await givenDirectory(acme.ca, { rollover_days: 3 });
    const account = await acme.account({ directory });
    const { certId } = await certified(account, undefined, directory);
    const { id } = await givenIntermediate(acme.ca);
    await updateDirectory(acme.ca, admin, directory.id, { signing_cert_id: id });
    const { json } = await account.get(`${await account.url('renewalInfo')}/${certId}`);
    const inDays = (Date.parse(json.suggestedWindow.start) - acme.ca.clock.now().getTime()) / DAY_MS;
    expect(inDays).toBeGreaterThanOrEqual(0);
    expect(inDays).toBeLessThan(3);
  });
});

describe('replaces', () => {
  test('ARI-7: is reflected in the order for ever, and ties the certificate to it', async () => {
    const cert = await certified();
    const order = await replacing(cert.certId);
    expect(order).toMatchObject({ status: 201, json: { replaces: cert.certId } });
    const url = order.headers.location ?? '';
    expect((await client.post(url)).json.replaces).toBe(cert.certId);
    expect(await linkOf(cert)).toBe(parseId('ordr', idIn(url)));
  });

  test('ARI-8: a certificate is replaced once; an invalid order frees it, also after it is gone', async () => {
    const cert = await certified();
    const first = await replacing(cert.certId);
    expect((await replacing(cert.certId)).json).toMatchObject({ status: 409, type: `${URN}alreadyReplaced` });
    await cancelOrder(acme.ca, admin, parseId('ordr', idIn(first.headers.location ?? '')) ?? '');
    const second = await replacing(cert.certId);
    expect(second.status).toBe(201);
    expect((await replacing(cert.certId)).status).toBe(409);
    expect(await linkOf(cert)).toBe(parseId('ordr', idIn(second.headers.location ?? '')));
  });

  test('ARI-8: an order that ended by time frees it before any sweep', async () => {
    const cert = await certified();
    expect((await replacing(cert.certId)).status).toBe(201);
    acme.ca.clock.advance(DAY_MS);
    client = afresh();
    expect((await replacing(cert.certId)).status).toBe(201);
  });

  test('ARI-8: a valid order that is gone keeps it replaced', async () => {
    const cert = await certified();
    const order = await replacing(cert.certId);
    const id = parseId('ordr', idIn(order.headers.location ?? '')) ?? '';
    const { db } = acme.ca.database;
    await db.updateTable('orders').set({ state: 'valid', issued_cert_id: id }).where('id', '=', id).execute();
    acme.ca.clock.advance(32 * DAY_MS);
    client = afresh();
    await removeEnded(acme.ca, new AbortController().signal);
    expect(await db.selectFrom('orders').select('id').where('id', '=', id).execute()).toEqual([]);
    expect((await replacing(cert.certId)).status).toBe(409);
  });

  test('ARI-8: of two orders at once one wins, and the other leaves nothing behind', async () => {
    const cert = await certified();
    const { db } = acme.ca.database;
    const countOf = async (table: 'orders' | 'authorizations') =>
      (await db.selectFrom(table).select('id').execute()).length;
    const [orders, authorizations] = [await countOf('orders'), await countOf('authorizations')];
    // Both have looked, and found it free, when both come to write.
    const answers = await db.transaction().execute(async (tx) => {
      await tx.selectFrom('issued_certs').select('id').where('id', '=', cert.id).forUpdate().execute();
      const asked = [replacing(cert.certId), replacing(cert.certId)];
      await waitingQueries(db, 2);
      return () => Promise.all(asked);
    });
    const [won, lost] = (await answers()).sort((one, other) => one.status - other.status);
    expect(won?.status).toBe(201);
    expect(lost?.json).toMatchObject({ status: 409, type: `${URN}alreadyReplaced` });
    expect(await linkOf(cert)).toBe(parseId('ordr', idIn(won?.headers.location ?? '')));
    expect((await countOf('orders')) - orders).toBe(1);
    expect((await countOf('authorizations')) - authorizations).toBeLessThanOrEqual(1);
  });

  test("ARI-7: another account's certificate, one that nobody has, and one without a common name are refused alike", async () => {
    const other = await acme.account({ orderValidations: 'auto_approve' });
    const foreign = await certified(other);
    const own = await certified(client, ['www.corp.example']);
    const unknown = await certIdOf({ serial: Buffer.from('0a0b', 'hex') }, acme.directory.fields.signing_cert_id);
    for (const certId of [foreign.certId, unknown, own.certId, 'no CertID']) {
      expect((await replacing(certId)).json, certId).toMatchObject({ status: 400, type: `${URN}malformed` });
    }
    expect((await replacing(own.certId, ['shop.corp.example', 'www.corp.example'])).status).toBe(201);
    expect(await linkOf(foreign)).toBeNull();
  });

  test('ARI-9: the certificate of another CA is taken in good faith, any number of times', async () => {
    const certId = 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE';
    for (const order of [await replacing(certId), await replacing(certId)])
      expect(order).toMatchObject({ status: 201, json: { replaces: certId } });
  });

  test('ORD-21: what a rule refuses does not tie the certificate', async () => {
    const cert = await certified();
    expect((await replacing(cert.certId, ['shop.corp.example', 'shop.example.org'])).status).toBe(403);
    expect(await linkOf(cert)).toBeNull();
  });
});

test('ARI-10: a certificate that was really issued is renewed by what stands in it, and then replaced', async () => {
  const issue = async (members = {}) => {
    const order = await client.newOrder(['real.corp.example'], members);
    const csr = await aRequest({ names: [dns('real.corp.example')] });
    const { json } = await client.finalize(order.json, csr);
    const [leaf] = readCertificateChainPem((await client.post(json.certificate)).text);
    if (leaf === undefined) throw new Error('no certificate was issued');
    const { authorityKeyIdentifier: keyIdentifier = Buffer.alloc(0) } = leaf.extensions;
    return certIdText({ keyIdentifier, serial: leaf.serial });
  };
  client = afresh();
  const first = await issue();
  expect((await client.get(`${renewalInfo}/${first}`)).status).toBe(200);
  const second = await issue({ replaces: first });
  expect((await client.get(`${renewalInfo}/${second}`)).status).toBe(200);
  expect((await replacing(first, ['real.corp.example'])).json.type).toBe(`${URN}alreadyReplaced`);
});
