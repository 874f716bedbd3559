// Leaf certificates as they are issued: every profile with every type of key, read by OpenSSL too, and dates to the second.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Applicant } from '../../src/core/applicant.ts';
import { chainOf } from '../../src/core/chains.ts';
import type { LeafKeyType } from '../../src/x509/algorithms.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { certificatePem } from '../../src/x509/certificate-pem.ts';
import { keyIdentifierOf } from '../../src/x509/spki.ts';
import { type GivenCa, givenCa } from '../support/given.ts';
import { givenApplicant } from '../support/given-applicant.ts';
import {
  aRequest,
  certificateOf,
  dns,
  everyKeyType,
  finalize,
  givenReadyOrder,
  ip,
  permissive,
} from '../support/given-ready-order.ts';
import { aKey } from '../unit/x509/builders.ts';

const openssl = promisify(execFile);
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;

let given: GivenCa;
let applicant: Applicant;
let folder: string;
let trust: { root: string; intermediates: string };
beforeAll(async () => {
  given = await givenCa();
  applicant = await givenApplicant(given.ca, permissive);
  folder = await mkdtemp(join(tmpdir(), 'acmery-leaf-'));
  const { intermediates, rootPem } = await chainOf(given.ca.database.db, applicant.directory.signing_cert_id);
  trust = { root: join(folder, 'root.pem'), intermediates: join(folder, 'intermediates.pem') };
  await writeFile(trust.root, rootPem ?? '');
  await writeFile(trust.intermediates, intermediates.map(certificatePem).join(''));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await given[Symbol.asyncDispose]();
});

async function issue(wish: Parameters<typeof givenReadyOrder>[2], request: Parameters<typeof aRequest>[0] = {}) {
  const order = await givenReadyOrder(given.ca, applicant, wish);
  await finalize(given.ca, applicant, order, await aRequest(request));
  return certificateOf(given.ca, order.id);
}

async function verified(der: Buffer, purpose: 'sslserver' | 'sslclient'): Promise<string> {
  const leaf = join(folder, 'leaf.pem');
  await writeFile(leaf, certificatePem(der));
  const at = String(Math.floor(given.ca.clock.now().getTime() / SECOND_MS));
  const chain = ['-CAfile', trust.root, '-untrusted', trust.intermediates, '-no-CApath', '-no-CAstore'];
  await openssl('openssl', ['verify', '-x509_strict', '-attime', at, '-purpose', purpose, ...chain, leaf]);
  return (await openssl('openssl', ['x509', '-in', leaf, '-noout', '-text'])).stdout;
}

const purposes = {
  server: ['TLS Web Server Authentication', 'sslserver'],
  client: ['TLS Web Client Authentication', 'sslclient'],
  mtls: ['TLS Web Server Authentication, TLS Web Client Authentication', 'sslclient'],
} as const;
const cases = (['server', 'client', 'mtls'] as const).flatMap((profile) =>
  everyKeyType.map((keyType): [typeof profile, LeafKeyType] => [profile, keyType]),
);

test.for(cases)('OpenSSL accepts profile %s with a key of type %s', async ([profile, keyType], { skip }) => {
  if (!hasOpenssl) skip('the command openssl is not installed');
  const text = await verified(await issue({ profile }, { key: await aKey(keyType) }), purposes[profile][1]);
  const mayEncipher = keyType.startsWith('rsa') && profile !== 'client';
  const usage = mayEncipher ? 'Digital Signature, Key Encipherment' : 'Digital Signature';
  expect(text).toMatch(new RegExp(`X509v3 Key Usage: critical\\s+${usage}\\n`));
  expect(text).toMatch(new RegExp(`X509v3 Extended Key Usage: \\n\\s+${purposes[profile][0]}\\n`));
  expect(text).toMatch(/X509v3 Basic Constraints: critical\s+CA:FALSE/);
  expect(text).not.toMatch(/Policies|SCT/);
});

describe('what a leaf says', () => {
  test('names in the order of the order, each once, addresses as such; no subject, SAN critical (FIN-13)', async () => {
    const names = [
      dns('b.corp.example'),
      ip('10.0.0.1'),
      dns('*.corp.example'),
      ip('2001:db8::1'),
      dns('a.corp.example'),
    ];
    const der = await issue({ identifiers: [...names, dns('B.corp.example')] }, { names: [...names].reverse() });
    const { extensions, subject } = parseCertificate(der);
    expect(extensions.subjectAltNames).toEqual(names);
    expect(subject.attributes).toEqual([]);
    if (hasOpenssl) expect(await verified(der, 'sslserver')).toMatch(/X509v3 Subject Alternative Name: critical/);
  });

  test('the CN of the CSR is the subject where it is one of the dns names, and SAN is not critical then', async () => {
    const der = await issue({}, { subject: { CN: 'Shop.Corp.Example', O: 'ignored' } });
    expect(parseCertificate(der).subject.fields).toEqual({ CN: 'shop.corp.example' });
    if (hasOpenssl) expect(await verified(der, 'sslserver')).toMatch(/X509v3 Subject Alternative Name: \n/);
  });

  test('FIN-13: an address in the CN is no subject', async () => {
    const address = [ip('10.0.0.9')];
    const der = await issue({ identifiers: address }, { names: address, subject: { CN: '10.0.0.9' } });
    expect(parseCertificate(der).subject.attributes).toEqual([]);
  });

  test('FIN-2: a CSR with a CN alone is enough', async () => {
    const der = await issue({}, { names: [], subject: { CN: 'shop.corp.example' } });
    expect(parseCertificate(der).extensions.subjectAltNames).toEqual([dns('shop.corp.example')]);
  });

  test('a name of more than 64 characters is no CN', async () => {
    const long = `${'a'.repeat(60)}.corp.example`;
    const der = await issue({ identifiers: [dns(long)] }, { names: [dns(long)] });
    expect(parseCertificate(der).subject.attributes).toEqual([]);
  });

  test('SEC-27: 17 octets of serial number; identifiers of both keys; one URL of each kind', async () => {
    const { serial, extensions, spki, version } = parseCertificate(await issue({}));
    const { intermediates } = await chainOf(given.ca.database.db, applicant.directory.signing_cert_id);
    const issuer = parseCertificate(intermediates[0] ?? Buffer.alloc(0));
    expect([version, serial.length]).toEqual([3, 17]);
    expect(extensions.subjectKeyIdentifier).toEqual(keyIdentifierOf(spki));
    expect(extensions.authorityKeyIdentifier).toEqual(issuer.extensions.subjectKeyIdentifier);
    expect(extensions.crlUrls).toEqual([expect.stringMatching(/^http:\/\/pki\.corp\.example\/crl\/scrt_.*\.crl$/)]);
    expect(extensions.ocspUrls).toEqual([expect.stringMatching(/^http:\/\/pki\.corp\.example\/ocsp\/scrt_/)]);
    expect(extensions.caIssuersUrls).toEqual([
      expect.stringMatching(/^http:\/\/pki\.corp\.example\/ca\/scrt_.*\.crt$/),
    ]);
    expect(extensions.mustStaple).toBeUndefined();
  });
});

describe('SEC-16, SEC-15: dates are those that were ordered, to the second, and names are those that were authorized', () => {
  const now = () => Math.floor(given.ca.clock.now().getTime() / SECOND_MS) * SECOND_MS;

  test('by default 90 days, both ends included, backdated by five minutes', async () => {
    const { notBefore, notAfter } = parseCertificate(await issue({}));
    expect(notBefore.getTime()).toBe(now() - 300 * SECOND_MS);
    expect(notAfter.getTime()).toBe(now() + 90 * DAY_MS - SECOND_MS);
  });

  test.each(Array.from({ length: 12 }, (_, index) => index))('case %i of random dates and names', async (index) => {
    // Reproducible, and different each time.
    const days = 2 + ((index * 37) % 96);
    const ahead = (index * 7_919) % 86_400;
    const begin = now() + ahead * SECOND_MS;
    const end = begin + days * DAY_MS;
    const names = [dns(`n${index}.corp.example`), ...(index % 3 === 0 ? [ip(`10.1.${index}.7`)] : [])];
    // A finalize some time later must not move them.
    const order = await givenReadyOrder(given.ca, applicant, {
      identifiers: names,
      notBefore: new Date(begin).toISOString(),
      notAfter: new Date(end).toISOString(),
    });
    given.ca.clock.advance(index * 61_000);
    await finalize(given.ca, applicant, order, await aRequest({ names }));
    const certificate = parseCertificate(await certificateOf(given.ca, order.id));
    expect(certificate.notBefore.getTime()).toBe(begin);
    expect(certificate.notAfter.getTime()).toBe(end);
    expect(certificate.extensions.subjectAltNames).toEqual(names);
    const row = await given.ca.database.db
      .selectFrom('issued_certs')
      .select(['not_before', 'not_after', 'subjects', 'serial'])
      .where('order_id', '=', order.id)
      .executeTakeFirstOrThrow();
    expect(row).toEqual({
      not_before: certificate.notBefore,
      not_after: certificate.notAfter,
      subjects: names.map(({ value }) => value),
      serial: certificate.serial,
    });
  });

  test('a default end does not move when finalize comes later', async () => {
    const order = await givenReadyOrder(given.ca, applicant, { identifiers: [dns('late.corp.example')] });
    const end = now() + 90 * DAY_MS - SECOND_MS;
    given.ca.clock.advance(3_600_000);
    await finalize(given.ca, applicant, order, await aRequest({ names: [dns('late.corp.example')] }));
    expect(parseCertificate(await certificateOf(given.ca, order.id)).notAfter.getTime()).toBe(end);
  });
});
