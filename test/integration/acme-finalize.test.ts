// Finalize and certificates at the door: statuses, headers and bodies as clients rely on them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSigningCert } from '../../src/core/create-signing-cert.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { readCertificateChainPem } from '../../src/x509/certificate-pem.ts';
import { type TestAcme, testAcme } from '../support/acme.ts';
import type { AcmeAnswer, AcmeClient } from '../support/acme-client.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { admin } from '../support/given.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { aRequest, dns, ip } from '../support/given-ready-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';

const DAY_MS = 86_400_000;

let acme: TestAcme;
let client: AcmeClient;
beforeAll(async () => {
  acme = await testAcme({ directory: { allowed_dns_identifiers: ['**'] } });
  client = await acme.account({ orderValidations: 'auto_approve' });
});
afterAll(() => acme[Symbol.asyncDispose]());

let made = 0;
const aName = () => `shop-${++made}.corp.example`;

async function ordered(): Promise<{ url: string; order: Record<string, string>; csr: Buffer }> {
  const name = aName();
  const { headers, json } = await client.newOrder([name]);
  return { url: headers.location ?? '', order: json, csr: await aRequest({ names: [dns(name)] }) };
}

async function issued(): Promise<{ url: string; answer: AcmeAnswer }> {
  const { order, csr } = await ordered();
  const { json } = await client.post(order.finalize ?? '', { csr: csr.toString('base64url') });
  return { url: json.certificate, answer: await client.post(json.certificate) };
}

describe('finalize', () => {
  test('FIN-10, G-2, G-4, G-15, G-27: 200, valid, with certificate and the Location of the order', async () => {
    const { url, order, csr } = await ordered();
    const { status, headers, json, text } = await client.post(order.finalize ?? '', { csr: csr.toString('base64url') });
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: 'valid', certificate: expect.stringMatching(/^https:.*\/cert\/icrt_/) });
    expect(headers).toMatchObject({ location: url, 'content-type': 'application/json' });
    expect(headers['replay-nonce']).toBeDefined();
    expect(headers['retry-after']).toBeUndefined();
    expect(text).not.toContain('null');
    expect((await client.post(url)).json).toEqual(json);
  });

  test('FIN-1: the same CSR again is 200, and another one 403', async () => {
    const { order, csr } = await ordered();
    const first = await client.post(order.finalize ?? '', { csr: csr.toString('base64url') });
    const again = await client.post(order.finalize ?? '', { csr: csr.toString('base64url') });
    expect([again.status, again.json]).toEqual([200, first.json]);
    const other = await client.post(order.finalize ?? '', { csr: (await aRequest()).toString('base64url') });
    expect([other.status, other.json.type]).toEqual([403, 'urn:ietf:params:acme:error:orderNotReady']);
  });

  test.each([
    ['pending', async () => undefined],
    ['invalid', async (by: AcmeClient, [url]: string[]) => by.post(url ?? '', { status: 'deactivated' })],
  ])('FIN-1: an order that is %s is not ready', async (state, change) => {
    const member = await acme.account();
    const { headers, json } = await member.newOrder(['shop.corp.example']);
    await change(member, json.authorizations);
    const { status, json: problem } = await member.finalize(json, await aRequest());
    expect([status, problem.type]).toEqual([403, 'urn:ietf:params:acme:error:orderNotReady']);
    expect(problem.detail).toContain(state);
    expect((await member.post(headers.location ?? '')).json.status).toBe(state);
  });

  test('FIN-5: padding is tolerated; PEM and plain base64 are malformed', async () => {
    const { order, csr } = await ordered();
    const finalize = (text: unknown) => client.post(order.finalize ?? '', { csr: text });
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${csr.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
    const plain = Buffer.concat([csr, Buffer.from('fbff', 'hex')]).toString('base64');
    for (const bad of [pem, `${plain}+/`, '', 7, undefined]) {
      const { status, json } = await finalize(bad);
      expect([status, json.type]).toEqual([400, 'urn:ietf:params:acme:error:malformed']);
    }
    const padded = csr.toString('base64url');
    expect((await finalize(padded.padEnd(Math.ceil(padded.length / 4) * 4, '='))).json.status).toBe('valid');
  });

  test('FIN-6: bytes after the CSR are badCSR, and the order stays ready', async () => {
    const { url, order, csr } = await ordered();
    const { status, json } = await client.post(order.finalize ?? '', {
      csr: Buffer.concat([csr, Buffer.of(0)]).toString('base64url'),
    });
    expect([status, json.type]).toEqual([400, 'urn:ietf:params:acme:error:badCSR']);
    expect((await client.post(url)).json.status).toBe('ready');
  });

  test("ACC-13: another account's order is the same 404 as one that never was", async () => {
    const { order, csr } = await ordered();
    const stranger = await acme.account({ orderValidations: 'auto_approve' });
    const finalize = order.finalize ?? '';
    const missing = finalize.replace(/ordr_[^/]+/, 'ordr_01kznbwrzqe0s9rk2hc16bsvfg');
    const answers = await Promise.all(
      [finalize, missing].map((url) => stranger.post(url, { csr: csr.toString('base64url') })),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(answers[0]?.text).toBe(answers[1]?.text);
  });
});

describe('a certificate', () => {
  test('CRT-1: is a PEM chain, leaf first, without the root', async () => {
    const { answer } = await issued();
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/pem-certificate-chain']);
    expect(answer.text).toMatch(/^(-----BEGIN CERTIFICATE-----\n([A-Za-z0-9+/=]+\n)+-----END CERTIFICATE-----\n)+$/);
    const chain = readCertificateChainPem(answer.text);
    expect(chain).toHaveLength(2);
    expect(chain[0]?.issuer.der).toEqual(chain[1]?.subject.der);
    expect(chain[1]?.issuer.der).not.toEqual(chain[1]?.subject.der);
    expect(answer.all('link').filter((link) => link.includes('alternate'))).toEqual([]);
  });

  test('CRT-6: is the same bytes each time', async () => {
    const { url, answer } = await issued();
    expect((await client.post(url)).bytes).toEqual(answer.bytes);
  });

  test.each([
    ['application/pkix-cert', 'application/pkix-cert'],
    ['application/pkix-cert, application/pem-certificate-chain', 'application/pem-certificate-chain'],
    ['application/pem-certificate-chain;q=0.5, application/pkix-cert;q=0.9', 'application/pkix-cert'],
    ['application/pkix-cert;q=0', 'application/pem-certificate-chain'],
    ['application/pkcs7-mime', 'application/pem-certificate-chain'],
    ['*/*', 'application/pem-certificate-chain'],
  ])('CRT-3: Accept %s is answered with %s', async (accept, type) => {
    const { url, answer } = await issued();
    const other = await client.post(url, '', { headers: { Accept: accept } });
    expect([other.status, other.headers['content-type']]).toEqual([200, type]);
    if (type !== 'application/pkix-cert') return expect(other.text).toBe(answer.text);
    expect(other.bytes).toEqual(readCertificateChainPem(answer.text)[0]?.der);
    const [caIssuers] = parseCertificate(other.bytes).extensions.caIssuersUrls ?? [];
    expect(other.all('link')).toContain(`<${caIssuers}>;rel="up"`);
  });

  test("CRT-6, ACC-13: another account's, one that never was, and a chain that is none are the same 404", async () => {
    const { url } = await issued();
    const stranger = await acme.account();
    const never = url.replace(/icrt_.*/, 'icrt_01kznbwrzqe0s9rk2hc16bsvfg');
    const answers = [
      await stranger.post(url),
      await client.post(never),
      await client.post(`${url}/1`),
      await client.post(`${url}/0`),
      await client.post(`${url}/x`),
      await client.post(url.replace(/icrt_.*/, 'x')),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  test('CRT-2, G-11: of a cross-signed CA has a link to each other chain, with the same leaf', async () => {
    const [old, young] = [await foreignCa({ subject: { CN: 'Old' } }), await foreignCa({ subject: { CN: 'Young' } })];
    const subject = { CN: 'Crossed' };
    const usual = await foreignCa({ subject, parent: old });
    const crossed = await foreignCa({ subject, parent: young, key: usual.key });
    const offline = { key_availability: 'offline' } as const;
    for (const { publicCert: public_cert } of [old, young])
      await createSigningCert(acme.ca, admin, { ...offline, cert_type: 'root', public_cert });
    const intermediate = { cert_type: 'intermediate', key_availability: 'online' } as const;
    const issuer = await createSigningCert(acme.ca, admin, {
      ...intermediate,
      public_cert: usual.publicCert,
      private_key: usual.privateKey,
    });
    await createSigningCert(acme.ca, admin, { ...intermediate, ...offline, public_cert: crossed.publicCert });
    const directory = await givenDirectory(acme.ca, { issuer, allowed_dns_identifiers: ['**'] });
    const member = await acme.account({ orderValidations: 'auto_approve', directory });
    const name = aName();
    const { json } = await member.newOrder([name]);
    const done = await member.post(json.finalize, {
      csr: (await aRequest({ names: [dns(name)] })).toString('base64url'),
    });
    const url = done.json.certificate;
    const [first, second] = [await member.post(url), await member.post(`${url}/1`)];
    const alternates = (answer: AcmeAnswer) => answer.all('link').filter((link) => link.includes('alternate'));
    expect(alternates(first)).toEqual([`<${url}/1>;rel="alternate"`]);
    expect(alternates(second)).toEqual([`<${url}>;rel="alternate"`]);
    const [one, other] = [readCertificateChainPem(first.text), readCertificateChainPem(second.text)];
    expect(one.map(({ der }) => der)).toEqual([other[0]?.der, usual.der]);
    expect(other[1]?.der).toEqual(crossed.der);
    expect((await member.post(`${url}/2`)).status).toBe(404);
  });

  test('AUTO-3: of an auto-approved account holds names, wildcards and addresses of one order', async () => {
    const directory = await givenDirectory(acme.ca, {
      allowed_dns_identifiers: ['**'],
      allowed_ip_identifiers: ['0.0.0.0/0', '::/0'],
    });
    const member = await acme.account({ orderValidations: 'auto_approve', directory });
    const values = ['corp.example', '*.corp.example', '10.1.2.3', 'fd00::1'];
    const { status, json } = await member.newOrder(values);
    expect([status, json.status]).toEqual([201, 'ready']);
    const names = [dns('corp.example'), dns('*.corp.example'), ip('10.1.2.3'), ip('fd00::1')];
    const done = await member.finalize(json, await aRequest({ names }));
    expect([done.status, done.json.status]).toEqual([200, 'valid']);
    const { text } = await member.post(done.json.certificate);
    expect(readCertificateChainPem(text)[0]?.extensions.subjectAltNames).toEqual(names);
  });

  test('G-20, CRT-4: of a hundred names under two large RSA keys fits into 16 KiB with its headers', async () => {
    const large = { private_key_type: 'rsa_4096' } as const;
    const issuer = await givenIntermediate(acme.ca, {
      ...large,
      parent: await givenIntermediate(acme.ca, { ...large, path_length: 1 }),
    });
    const directory = await givenDirectory(acme.ca, { issuer, allowed_dns_identifiers: ['**'] });
    const member = await acme.account({ orderValidations: 'auto_approve', directory });
    const values = Array.from({ length: 100 }, (_, index) => `a-name-of-some-length-${index}.corp.example`);
    const { json } = await member.newOrder(values);
    const csr = await aRequest({ names: values.map(dns), keyType: 'rsa_4096' });
    const { bytes, headers } = await member.post((await member.finalize(json, csr)).json.certificate);
    expect(bytes.length + JSON.stringify(headers).length).toBeLessThan(16_384);
  });

  test('CRT-5: is readable until 30 days after its end', async () => {
    const { url, answer } = await issued();
    const end = readCertificateChainPem(answer.text)[0]?.notAfter.getTime() ?? 0;
    acme.ca.clock.advance(end - acme.ca.clock.now().getTime() + 30 * DAY_MS - 1000);
    // With a nonce of that time.
    const later = acme.client({ key: client.key, ...(client.kid && { kid: client.kid }) });
    expect((await later.post(url)).status).toBe(200);
    acme.ca.clock.advance(1000);
    expect((await later.post(url)).status).toBe(404);
  });
});
