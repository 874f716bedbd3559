// /crl: what caches are told, who reads which CRL when, and the CRL of our own HTTPS.
import { expect, test } from 'vitest';
import { sweepCrls } from '../../src/core/crls.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { formatId } from '../../src/core/ids.ts';
import { claimRemovedKeys, removeKey } from '../../src/core/removed-keys.ts';
import { publishCrls } from '../../src/core/revoke.ts';
import { openServingCa } from '../../src/core/serving-ca.ts';
import { keepServingCertificate, type ServingCertificate } from '../../src/core/serving-certificate.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { parseCrl } from '../../src/x509/crl-reader.ts';
import { DAY_MS } from '../support/clock.ts';
import { admin } from '../support/given.ts';
import { buildDueCrls, crlOf } from '../support/given-crl.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';
import { openssl } from '../support/openssl.ts';
import { testPublish } from '../support/publish.ts';

const HOUR_MS = 3_600_000;

async function given() {
  const publish = await testPublish();
  const root = await givenRoot(publish.ca);
  await buildDueCrls(publish.ca);
  const renew = async () => {
    await publishCrls(publish.ca, [root.id]);
    await buildDueCrls(publish.ca);
  };
  return { ...publish, root, renew, path: `/crl/${formatId('scrt', root.id)}.crl` };
}

const timeOf = (headers: Headers, name: string): number => Date.parse(headers.get(name) ?? '');

test('the CRL is DER, with what caches need', async () => {
  await using world = await given();
  const { ca, root } = world;
  const { status, headers, bytes } = await world.get(world.path);
  const crl = await crlOf(ca, root);

  expect(status).toBe(200);
  expect(bytes).toEqual(crl.der);
  expect(headers.get('content-type')).toBe('application/pkix-crl');
  expect(headers.get('cache-control')).toBe('public, max-age=3600');
  expect(timeOf(headers, 'last-modified')).toBe(crl.thisUpdate.getTime());
  expect(timeOf(headers, 'expires')).toBe(Math.floor(ca.clock.now().getTime() / 1000) * 1000 + HOUR_MS);
});

test.each([
  ['a quarter of what remains', 2 * HOUR_MS, 1800],
  ['nothing, at the end', 0, 0],
  ['nothing, past the end', -HOUR_MS, 0],
])('caches are given %s', async (_what, remainingMs, seconds) => {
  await using world = await given();
  const { ca } = world;
  const end = (await crlOf(ca, world.root)).nextUpdate ?? new Date(0);
  ca.clock.advance(end.getTime() - remainingMs - ca.clock.now().getTime());

  const { headers } = await world.get(world.path);

  expect(headers.get('cache-control')).toBe(`public, max-age=${seconds}`);
  expect(timeOf(headers, 'expires')).toBeLessThanOrEqual(end.getTime());
});

test('DIR-6: the allow list of a directory is not for what its certificates point to', async () => {
  await using world = await given();
  const issuer = await givenIntermediate(world.ca, { parent: world.root });
  await givenDirectory(world.ca, { issuer, remote_ip_whitelist: ['10.9.0.0/16'] });
  await buildDueCrls(world.ca);
  const id = formatId('scrt', issuer.id);
  for (const path of [`/crl/${id}.crl`, `/ca/${id}.crt`]) expect((await world.get(path)).status, path).toBe(200);
});

test('who has the CRL is told so until there is another one', async () => {
  await using world = await given();
  const { headers } = await world.get(world.path);
  const known = {
    'If-None-Match': headers.get('etag') ?? '',
    'If-Modified-Since': headers.get('last-modified') ?? '',
  };
  const { 'If-Modified-Since': since } = known;

  expect((await world.get(world.path, known)).status).toBe(304);
  expect((await world.get(world.path, { 'If-Modified-Since': since })).status).toBe(304);
  // In the same second.
  await world.renew();
  const next = await world.get(world.path, known);
  expect(next.status).toBe(200);
  expect(next.headers.get('etag')).not.toBe(headers.get('etag'));
  expect((await world.get(world.path, { 'If-Modified-Since': since })).status).toBe(200);
});

test('two doors of one CA show a new CRL at once', async () => {
  await using world = await given();
  await using other = await testPublish({ of: world });
  const [before, beforeThere] = [await world.get(world.path), await other.get(world.path)];
  await world.renew();
  const [after, afterThere] = [await world.get(world.path), await other.get(world.path)];

  expect(beforeThere.bytes).toEqual(before.bytes);
  expect(afterThere.bytes).toEqual(after.bytes);
  expect(after.bytes).not.toEqual(before.bytes);
});

test('the CRL of a deleted CA stays, and one that never was there is not found', async () => {
  await using world = await given();
  const { ca, root } = world;
  await deleteSigningCert(ca, admin, root.id);
  for (const claim of await claimRemovedKeys(ca, 20, 60_000)) await removeKey(ca, claim);

  expect((await world.get(world.path)).status).toBe(200);
  const fresh = await givenRoot(ca, { name: 'Fresh' });
  expect((await world.get(`/crl/${formatId('scrt', fresh.id)}.crl`)).status).toBe(404);
  for (const name of ['nothing', 'serving', 'serving-1', 'serving-02', 'serving-2', root.id])
    expect((await world.get(`/crl/${name}.crl`)).status, name).toBe(404);
});

test('metrics say how old each CRL is, whoever built it, and forget deleted CAs', async () => {
  await using world = await given();
  const { ca, root } = world;
  const id = formatId('scrt', root.id);
  const { thisUpdate, nextUpdate } = await crlOf(ca, root);
  const line = (name: string, time: Date | undefined) =>
    `acmery_crl_${name}_timestamp_seconds{signing_cert="${id}"} ${(time?.getTime() ?? 0) / 1000}`;

  await sweepCrls(ca);
  expect(await world.metrics()).toContain(line('this_update', thisUpdate));
  expect(await world.metrics()).toContain(line('next_update', nextUpdate));
  await deleteSigningCert(ca, admin, root.id);
  await sweepCrls(ca);
  expect(await world.metrics()).not.toContain(id);
});

test('G-24: our own HTTPS certificate names an empty CRL of its CA, and openssl accepts both', async () => {
  await using world = await given();
  const { ca } = world;
  let served: ServingCertificate | undefined;
  await keepServingCertificate(ca, ['localhost'], async (pair) => {
    served = pair;
  });
  const { certificate = '', anchors = '' } = served ?? {};
  const [url = ''] = readCertificatePem(certificate).extensions.crlUrls ?? [];

  expect(url).toBe('http://pki.corp.example/crl/serving.crl');
  const { status, bytes } = await world.get(new URL(world.at(url)).pathname);
  expect(status).toBe(200);
  const crl = await openssl(['crl', '-inform', 'DER', '-in', 'crl.der'], { 'crl.der': bytes });
  const time = String(Math.floor(ca.clock.now().getTime() / 1000));
  const said = await openssl(
    ['verify', '-x509_strict', '-crl_check', '-attime', time, '-CAfile', 'ca.pem', '-CRLfile', 'crl.pem', 'leaf.pem'],
    { 'ca.pem': anchors, 'crl.pem': crl.text, 'leaf.pem': certificate },
  );
  expect(said).toMatchObject({ ok: true });
});

test('the CRL of our own HTTPS is renewed, the same on every replica, and of the generation that signed', async () => {
  await using world = await given();
  const { ca } = world;
  await openServingCa(ca);
  const first = await parseCrl((await world.get('/crl/serving.crl')).bytes);
  ca.clock.advance(12 * HOUR_MS);
  const second = await world.get('/crl/serving.crl');
  expect((await parseCrl(second.bytes)).extensions.crlNumber).toBeGreaterThan(first.extensions.crlNumber ?? 0n);
  await using other = await testPublish({ of: world });
  expect((await other.get('/crl/serving.crl')).headers.get('etag')).toBe(second.headers.get('etag'));

  ca.clock.advance(9.9 * 365 * DAY_MS);
  const { certificate, generation } = await openServingCa(ca);
  expect(generation).toBe(2);
  const next = await parseCrl((await world.get('/crl/serving-2.crl')).bytes);
  expect(next.issuer.der).toEqual(parseCertificate(certificate).subject.der);
  expect((await parseCrl((await world.get('/crl/serving.crl')).bytes)).issuer.der).toEqual(first.issuer.der);
});
