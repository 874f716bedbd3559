// OCSP over HTTP: what is said of certificates, to whom nothing is said, how it is sent, and what caches may keep.
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import { createSigningCert } from '../../src/core/create-signing-cert.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { CaError } from '../../src/core/errors.ts';
import { formatId, newUuid } from '../../src/core/ids.ts';
import { answerOcsp } from '../../src/core/ocsp.ts';
import { revokeIssuedCerts } from '../../src/core/revoke.ts';
import type { RevocationReason } from '../../src/resources/revocation-reasons.ts';
import { openDatabase } from '../../src/store/database.ts';
import { keyTypes } from '../../src/x509/algorithms.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { admin } from '../support/given.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { givenAccount } from '../support/given-order.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';
import { ocspRequest, readOcspAnswer } from '../support/ocsp.ts';
import { type TestPublish, testPublish } from '../support/publish.ts';
import { mutantOf, seededRandom } from '../unit/x509/mutants.ts';

const HOUR_MS = 3_600_000;
const REQUEST = 'application/ocsp-request';
const codes = { malformedRequest: 1, internalError: 2, tryLater: 3, unauthorized: 6 };

const revoke = (ca: Ca, id: string, reason: RevocationReason) =>
  ca.database.inTransaction((tx) => revokeIssuedCerts(tx, admin, { id }, reason, ca.clock.now()));

const pathOf = ({ id }: { readonly id: string }) => `/ocsp/${formatId('scrt', id)}`;
const base64 = (request: Buffer) => encodeURIComponent(request.toString('base64'));

/** A door, a CA, a certificate of it, and a client that asks about serial numbers. */
async function given() {
  const publish = await testPublish();
  const { ca } = publish;
  const issuer = await givenIntermediate(ca);
  const issuerPem = issuer.publicCert ?? '';
  const account = await givenAccount(ca, issuer);
  const cert = await givenIssuedCert(ca, account);
  const ask = async (
    serials: readonly Buffer[],
    wanted: Parameters<typeof ocspRequest>[2] = {},
    at: TestPublish = publish,
  ) => {
    const { bytes } = await at.post(pathOf(issuer), REQUEST, ocspRequest(issuerPem, serials, wanted));
    return readOcspAnswer(bytes, issuerPem);
  };
  return {
    publish,
    ca,
    issuer,
    issuerPem,
    account,
    cert,
    ask,
    [Symbol.asyncDispose]: () => publish[Symbol.asyncDispose](),
  };
}

test('a certificate is good, revoked from the next answer on, and one that was never issued is unknown', async () => {
  await using world = await given();
  const { ca, cert, ask } = world;
  expect(await ask([cert.serial])).toMatchObject({ code: 0, statuses: ['good'] });

  await revoke(ca, cert.id, 'key_compromise');

  expect(await ask([cert.serial])).toMatchObject({ statuses: ['revoked: keyCompromise'] });
  expect(await ask([Buffer.of(5)])).toMatchObject({ code: 0, statuses: ['unknown'] });
});

test('another replica says so at once, too', async () => {
  await using world = await given();
  const { publish, ca, cert, ask } = world;
  await using database = openDatabase({ url: publish.databaseUrl });
  await using other = await testPublish({ of: { ...publish, ca: { ...ca, database } } });
  expect(await ask([cert.serial], {}, other)).toMatchObject({ statuses: ['good'] });

  await revoke(ca, cert.id, 'unspecified');

  expect(await ask([cert.serial], {}, other)).toMatchObject({ statuses: ['revoked: unspecified'] });
});

test('the answer is by the digest that was asked with, and up to twenty certificates go together', async () => {
  await using world = await given();
  const { ca, account, cert, ask } = world;
  const other = await givenIssuedCert(ca, account);
  await revoke(ca, other.id, 'superseded');
  const serials = [other.serial, Buffer.of(1), ...Array<Buffer>(18).fill(cert.serial)];
  for (const hash of ['sha1', 'sha256'] as const)
    expect((await ask(serials, { hash })).statuses).toEqual([
      'revoked: superseded',
      'unknown',
      ...Array(18).fill('good'),
    ]);
  expect((await ask([...serials, cert.serial])).code).toBe(codes.malformedRequest);
});

test('a nonce comes back, and nobody keeps its answer', async () => {
  await using world = await given();
  const { publish, issuer, issuerPem, cert, ask } = world;
  const nonce = randomBytes(32);
  expect((await ask([cert.serial], { nonce })).nonce).toEqual(nonce);
  const request = ocspRequest(issuerPem, [cert.serial], { nonce });
  const { headers } = await publish.get(`${pathOf(issuer)}/${base64(request)}`);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('etag')).toBeNull();
});

test.each(keyTypes)('a CA of key type %s has answers that its relying parties can verify', async (keyType) => {
  await using publish = await testPublish();
  const root = await givenRoot(publish.ca, { private_key_type: keyType });
  const pem = root.publicCert ?? '';
  const { bytes } = await publish.post(pathOf(root), REQUEST, ocspRequest(pem, [Buffer.of(1)]));
  const { code, certificate } = await readOcspAnswer(bytes, pem);
  expect(code).toBe(0);
  const { extensions, notBefore, notAfter, keyType: own } = parseCertificate(certificate);
  expect(own).toBe(keyType.startsWith('ec') ? 'ec_256' : 'rsa_2048');
  expect(extensions).toMatchObject({
    basicConstraints: { ca: false },
    keyUsage: ['digitalSignature'],
    extendedKeyUsage: ['OCSPSigning'],
    unknownCritical: [],
  });
  expect(extensions.authorityKeyIdentifier).toEqual(readCertificatePem(pem).extensions.subjectKeyIdentifier);
  expect(notAfter.getTime() - notBefore.getTime()).toBe(90 * 24 * HOUR_MS - 1000);
});

test('a CA certificate is asked about at its parent', async () => {
  await using publish = await testPublish();
  const { ca } = publish;
  const root = await givenRoot(ca);
  const child = await givenIntermediate(ca, { parent: root });
  const pem = root.publicCert ?? '';
  const { serial } = readCertificatePem(child.publicCert ?? '');
  const statuses = async () => {
    const { bytes } = await publish.post(pathOf(root), REQUEST, ocspRequest(pem, [serial]));
    return (await readOcspAnswer(bytes, pem)).statuses;
  };
  expect(await statuses()).toEqual(['good']);
  await deleteSigningCert(ca, admin, child.id);
  expect(await statuses()).toEqual(['good']);
  const set = { state: 'revoked', revoked_at: ca.clock.now(), reason: 2 } as const;
  await ca.database.db.updateTable('signing_certs').set(set).where('id', '=', child.id).execute();
  expect(await statuses()).toEqual(['revoked: cACompromise']);
});

test.each(['first', 'second'] as const)(
  'a CA certificate that was imported again is revoked when its %s row is',
  async (which) => {
    await using publish = await testPublish();
    const { ca } = publish;
    const root = await givenRoot(ca);
    const first = await givenIntermediate(ca, { parent: root });
    await deleteSigningCert(ca, admin, first.id);
    const pem = first.publicCert ?? '';
    const again = { cert_type: 'intermediate', key_availability: 'offline', public_cert: pem } as const;
    const rows = { first, second: await createSigningCert(ca, admin, again) };
    const set = { state: 'revoked', revoked_at: ca.clock.now(), reason: 4 } as const;
    await ca.database.db.updateTable('signing_certs').set(set).where('id', '=', rows[which].id).execute();
    const request = ocspRequest(root.publicCert ?? '', [readCertificatePem(pem).serial]);
    const { der } = await answerOcsp(ca, root.id, request);
    expect((await readOcspAnswer(der, root.publicCert ?? '')).statuses).toEqual(['revoked: superseded']);
  },
);

test('nothing is said for CAs that are not here, or whose key is not', async () => {
  await using world = await given();
  const { publish, ca, issuer, cert, ask, issuerPem } = world;
  const other = await givenRoot(ca);
  const offline = await createSigningCert(ca, admin, {
    cert_type: 'root',
    key_availability: 'offline',
    public_cert: (await foreignCa()).publicCert,
  });
  const codeOf = async (path: string, pem: string, named = pem) => {
    const { status, bytes } = await publish.post(path, REQUEST, ocspRequest(pem, [cert.serial], { named }));
    return [status, (await readOcspAnswer(bytes, pem)).code];
  };
  const unauthorized = [200, codes.unauthorized];
  const otherPem = other.publicCert ?? '';
  expect(await codeOf(pathOf(issuer), otherPem)).toEqual(unauthorized);
  expect(await codeOf(pathOf(issuer), otherPem, issuerPem)).toEqual(unauthorized);
  expect(await codeOf(pathOf(issuer), issuerPem, otherPem)).toEqual(unauthorized);
  expect(await codeOf(pathOf(offline), offline.publicCert ?? '')).toEqual(unauthorized);
  expect(await codeOf(pathOf({ id: newUuid(new Date()) }), issuerPem)).toEqual(unauthorized);
  expect(await codeOf('/ocsp/scrt_1', issuerPem)).toEqual(unauthorized);

  await ca.database.db.updateTable('signing_certs').set({ key_ref: null }).where('id', '=', issuer.id).execute();
  expect((await ask([cert.serial])).code).toBe(codes.unauthorized);
});

test('a revoked CA still answers for its leaves', async () => {
  await using world = await given();
  const { ca, issuer, cert, ask } = world;
  const set = { state: 'revoked', revoked_at: ca.clock.now(), reason: 2 } as const;
  await ca.database.db.updateTable('signing_certs').set(set).where('id', '=', issuer.id).execute();
  expect(await ask([cert.serial])).toMatchObject({ code: 0, statuses: ['good'] });
});

test('a deleted CA answers until its key goes', async () => {
  await using publish = await testPublish();
  const { ca } = publish;
  const root = await givenRoot(ca);
  const pem = root.publicCert ?? '';
  await deleteSigningCert(ca, admin, root.id);
  const { bytes } = await publish.post(pathOf(root), REQUEST, ocspRequest(pem, [Buffer.of(1)]));
  expect((await readOcspAnswer(bytes, pem)).code).toBe(0);
});

test('GET takes the request in the path, however clients write it there', async () => {
  await using world = await given();
  const { publish, issuer, issuerPem, account, ca } = world;
  // A serial number for which the request holds what URLs write in several ways.
  const serial = Buffer.from('7ffbefbefbeffffffbefbefbffffbefb', 'hex');
  await givenIssuedCert(ca, account, { serial });
  const text = ocspRequest(issuerPem, [serial]).toString('base64');
  expect(text).toMatch(/^(?=.*\+)(?=.*\/\/).*=$/);
  const forms = {
    encoded: encodeURIComponent(text),
    plain: text,
    'without padding': text.replace(/=+$/, ''),
    'after two slashes': `/${text}`,
    'a slash in words alone': text.replaceAll('/', '%2f'),
    'plus as a space': text.replaceAll('+', '%20'),
  };
  for (const [name, form] of Object.entries(forms)) {
    const { status, bytes } = await publish.get(`${pathOf(issuer)}/${form}`);
    expect(status, name).toBe(200);
    expect(await readOcspAnswer(bytes, issuerPem), name).toMatchObject({ code: 0, statuses: ['good'] });
  }
});

test('RFC 5019: caches learn how long an answer holds, and who has it is told so', async () => {
  await using world = await given();
  const { publish, ca, issuer, issuerPem, cert } = world;
  const path = `${pathOf(issuer)}/${base64(ocspRequest(issuerPem, [cert.serial]))}`;
  const now = ca.clock.now();
  const first = await publish.get(path);
  expect(Object.fromEntries(first.headers)).toMatchObject({
    'content-type': 'application/ocsp-response',
    'cache-control': 'public, max-age=300, no-transform, must-revalidate',
    'last-modified': now.toUTCString(),
    expires: new Date(now.getTime() + 8 * HOUR_MS).toUTCString(),
    etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
  });
  const etag = first.headers.get('etag') ?? '';
  expect(await publish.get(path, { 'If-None-Match': etag })).toMatchObject({ status: 304, bytes: Buffer.alloc(0) });
  expect(await publish.head(path)).toMatchObject({ status: 200, bytes: Buffer.alloc(0) });
  await revoke(ca, cert.id, 'superseded');
  expect(await publish.get(path, { 'If-None-Match': etag })).toMatchObject({ status: 200 });
});

test('a signature serves until half of its time is over', async () => {
  await using world = await given();
  const { ca, cert, ask } = world;
  const first = await ask([cert.serial]);
  ca.clock.advance(4 * HOUR_MS - 1000);
  expect((await ask([cert.serial])).thisUpdate).toEqual(first.thisUpdate);
  ca.clock.advance(1000);
  expect((await ask([cert.serial])).thisUpdate).toEqual(ca.clock.now());
  expect(first.nextUpdate.getTime() - first.thisUpdate.getTime()).toBe(8 * HOUR_MS);
});

test('a signature that failed is tried again with the next answer', async () => {
  await using world = await given();
  const { publish, ca, cert, issuer, issuerPem } = world;
  let fails = true;
  const keys = {
    ...ca.keys,
    signer: async (ref: string) => {
      const signer = await ca.keys.signer(ref);
      const refuse = () => Promise.reject(new CaError('unavailable', 'Not now.'));
      return ref === issuer.id ? signer : { ...signer, sign: (tbs: Buffer) => (fails ? refuse() : signer.sign(tbs)) };
    },
  };
  const codeNow = async () => {
    const { der } = await answerOcsp({ ...publish.ca, keys }, issuer.id, ocspRequest(issuerPem, [cert.serial]));
    return (await readOcspAnswer(der, issuerPem)).code;
  };
  expect(await codeNow()).toBe(codes.tryLater);
  fails = false;
  expect(await codeNow()).toBe(0);
});

test('an answer never outlives its signer', async () => {
  await using publish = await testPublish();
  const root = await givenRoot(publish.ca, { valid_days: 1 });
  const pem = root.publicCert ?? '';
  publish.ca.clock.advance(20 * HOUR_MS);
  const { bytes } = await publish.post(pathOf(root), REQUEST, ocspRequest(pem, [Buffer.of(1)]));
  expect((await readOcspAnswer(bytes, pem)).nextUpdate).toEqual(readCertificatePem(pem).notAfter);
});

test('bytes that are no request are told so, with 200', async () => {
  await using world = await given();
  const { publish, issuer, issuerPem, cert } = world;
  const request = ocspRequest(issuerPem, [cert.serial]);
  const sent = [
    await publish.post(pathOf(issuer), REQUEST, Buffer.from('hello')),
    await publish.post(pathOf(issuer), REQUEST, Buffer.alloc(0)),
    await publish.post(pathOf(issuer), REQUEST, Buffer.concat([request, Buffer.of(0)])),
    await publish.get(`${pathOf(issuer)}/%00`),
    await publish.get(`${pathOf(issuer)}/${base64(request.subarray(1))}`),
  ];
  for (const { status, bytes, headers } of sent) {
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await readOcspAnswer(bytes, issuerPem)).code).toBe(codes.malformedRequest);
  }
  expect((await publish.post(pathOf(issuer), REQUEST, Buffer.alloc(16_385))).status).toBe(413);
});

test('whatever becomes of a request on its way, the answer is one that clients understand', async () => {
  await using world = await given();
  const { ca, issuer, issuerPem, cert } = world;
  const random = seededRandom(81);
  const original = ocspRequest(issuerPem, [cert.serial, Buffer.of(1)], { nonce: randomBytes(16) });
  const seen = new Set<number>();
  for (let turn = 0; turn < 500; turn++) {
    const mutant = mutantOf(original, random);
    const { der } = await answerOcsp(ca, issuer.id, mutant);
    const { code } = await readOcspAnswer(der, issuerPem);
    seen.add(code);
    expect([0, codes.malformedRequest, codes.unauthorized], mutant.toString('hex')).toContain(code);
  }
  expect(seen.size).toBe(3);
});

test('who asks while database or key store are away is told to come back', async () => {
  await using world = await given();
  const { publish, ca, issuer, issuerPem, cert } = world;
  const away = { ...ca.keys, signer: () => Promise.reject(new CaError('unavailable', 'The key store is away.')) };
  await using without = await testPublish({ of: { ...publish, ca: { ...ca, keys: away } } });
  await using database = openDatabase({ url: 'postgres://nobody@127.0.0.1:1/nowhere' });
  await using alone = await testPublish({ of: { ...publish, ca: { ...ca, database } } });
  for (const door of [without, alone]) {
    const { status, bytes } = await door.post(pathOf(issuer), REQUEST, ocspRequest(issuerPem, [cert.serial]));
    expect([status, (await readOcspAnswer(bytes, issuerPem)).code]).toEqual([200, codes.tryLater]);
  }
  expect(publish.logLines.join('')).toContain('an OCSP answer cannot be signed now');
});
