import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Probe, ProbedIdentifier, ProbeOutcome } from '../../src/core/ports.ts';
import { encodeDer, octetString, utf8 } from '../../src/x509/der-writer.ts';
import { basicConstraints, keyUsage } from '../../src/x509/extensions.ts';
import { buildName } from '../../src/x509/name.ts';
import { generatePrivateKey } from '../../src/x509/private-key.ts';
import { type AlpnParts, acmeIdentifier, alpnCertificate, digestOf } from '../support/alpn-certificate.ts';
import { type Applicant, anApplicant } from '../support/applicant.ts';

const never = new AbortController().signal;
const keyAuthorization = 'token.thumbprint';
const digest = digestOf(keyAuthorization);
const shop: ProbedIdentifier = { type: 'dns', value: 'shop.corp.example' };
const other: ProbedIdentifier = { type: 'dns', value: 'other.corp.example' };
const probe: Probe = {
  type: 'tls-alpn-01',
  identifier: shop,
  token: 'token',
  keyAuthorization,
  accountUrl: 'https://acme.corp.example/acme/web/account/acmk_1',
  directoryId: 'directory',
};
const valid: ProbeOutcome = { outcome: 'valid' };
const handshake = `a TLS handshake by protocol acme-tls/1 with server name ${shop.value}`;
const tlsError = (what: string) => ({
  outcome: 'failed',
  type: 'tls',
  detail: `Expected ${handshake}; 127.0.0.1 ${what}.`,
});
const refused = (objection: string, { value } = shop) => ({
  outcome: 'failed',
  type: 'incorrectResponse',
  detail: `Expected a self-signed certificate for ${value} whose acmeIdentifier is ${digest.toString('hex')}; 127.0.0.1 sent one ${objection}.`,
});

let applicant: Applicant;
beforeEach(async () => {
  applicant = await anApplicant();
});
afterEach(() => applicant[Symbol.asyncDispose]());

const probeWith = async (parts: AlpnParts, identifier = shop): Promise<ProbeOutcome> => {
  applicant.certificates.set(shop.value, await alpnCertificate(identifier, keyAuthorization, parts));
  return applicant.prober()(probe, never);
};

describe('what is accepted', () => {
  test('ALP-1: the certificate that the name shows by the protocol', async () => {
    expect(await probeWith({})).toEqual(valid);
  });

  test.each<[string, AlpnParts]>([
    ['expired', { notBefore: new Date('2001-01-01T00:00:00Z'), notAfter: new Date('2002-01-01T00:00:00Z') }],
    ['not valid yet', { notBefore: new Date('2040-01-01T00:00:00Z') }],
    ['of an RSA key', { keyType: 'rsa_2048' }],
    ['of P-384', { keyType: 'ec_384' }],
    [
      'with other extensions',
      { extensions: [basicConstraints({ ca: true }), acmeIdentifier(digest), keyUsage('keyCertSign')] },
    ],
    ['with the name in upper case', { names: [{ type: 'dns', value: 'SHOP.corp.example' }] }],
  ])('ALP-6: one that is %s', async (_what, parts) => {
    expect(await probeWith(parts)).toEqual(valid);
  });

  test('ALP-5: an address is asked for by its reverse name', async () => {
    const identifier: ProbedIdentifier = { type: 'ip', value: '127.0.0.1' };
    await applicant.answer({ ...probe, identifier });
    expect(await applicant.prober()({ ...probe, identifier }, never)).toEqual(valid);
    expect([...applicant.certificates.keys()]).toEqual(['1.0.0.127.in-addr.arpa']);
  });

  test('ALP-5: an IPv6 address too', async () => {
    await using v6 = await anApplicant({ addresses: ['::1'] });
    const identifier: ProbedIdentifier = { type: 'ip', value: '::1' };
    const name = `1.${'0.'.repeat(31)}ip6.arpa`;
    v6.certificates.set(name, await alpnCertificate(identifier, keyAuthorization));
    expect(await v6.prober()({ ...probe, identifier }, never)).toEqual(valid);
  });
});

describe('what is refused', () => {
  test.each<[string, string, AlpnParts]>([
    ['ALP-3: two names', 'with 2 names instead of this one alone', { names: [shop, other] }],
    ['ALP-3: the name twice', 'with 2 names instead of this one alone', { names: [shop, shop] }],
    [
      'ALP-3: an address beside it',
      'with 2 names instead of this one alone',
      { names: [shop, { type: 'ip', value: '127.0.0.1' }] },
    ],
    ['ALP-3: another name', 'that names something else', { names: [other] }],
    ['ALP-3: a wildcard of it', 'that names something else', { names: [{ type: 'dns', value: '*.corp.example' }] }],
    [
      'ALP-3: the name with a dot',
      'that names something else',
      { names: [{ type: 'dns', value: 'shop.corp.example.' }] },
    ],
    ['ALP-3: no name', 'without a subjectAltName', { names: [] }],
    ['ALP-4: no acmeIdentifier', 'without the acmeIdentifier extension', { extensions: [] }],
    [
      'ALP-4, SEC-14: the number of a draft',
      'with the acmeIdentifier extension of a draft',
      { extensions: [acmeIdentifier(digest, { oid: '1.3.6.1.5.5.7.1.30.1' })] },
    ],
    [
      'ALP-4: not critical',
      'whose acmeIdentifier extension is not critical',
      { extensions: [acmeIdentifier(digest, { critical: false })] },
    ],
    [
      'ALP-4: the digest of something else',
      'whose acmeIdentifier extension holds another digest',
      { extensions: [acmeIdentifier(digestOf('other'))] },
    ],
    [
      'ALP-4: a part of the digest',
      'whose acmeIdentifier extension holds another digest',
      { extensions: [acmeIdentifier(digest.subarray(1))] },
    ],
    [
      'ALP-4: the digest as text',
      'whose acmeIdentifier extension holds another digest',
      { extensions: [acmeIdentifier(Buffer.from(digest.toString('base64url')))] },
    ],
  ])('%s', async (_what, objection, parts) => {
    expect(await probeWith(parts)).toEqual(refused(objection));
  });

  test.each<[string, AlpnParts]>([
    ['no OCTET STRING', { extensions: [acmeIdentifier(digest, { value: encodeDer(utf8(digest.toString('hex'))) })] }],
    ['the digest without its frame', { extensions: [acmeIdentifier(digest, { value: digest })] }],
    ['nothing', { extensions: [acmeIdentifier(digest, { value: Buffer.alloc(0) })] }],
    [
      'bytes after it',
      {
        extensions: [
          acmeIdentifier(digest, { value: Buffer.concat([encodeDer(octetString(digest)), Buffer.of(5, 0)]) }),
        ],
      },
    ],
    ['twice', { extensions: [acmeIdentifier(digest), acmeIdentifier(digest)] }],
  ])('ALP-4, SEC-11: an acmeIdentifier with %s', async (_what, parts) => {
    const outcome = await probeWith(parts);
    expect(outcome).toMatchObject({ outcome: 'failed', type: 'incorrectResponse' });
    expect(outcome).toMatchObject({ detail: expect.stringContaining('127.0.0.1 sent one that cannot be read: ') });
  });

  test('ALP-2: a certificate that somebody else has issued', async () => {
    expect(await probeWith({ issuer: buildName({ CN: 'Corp Root' }) })).toEqual(
      refused('that somebody else has issued'),
    );
  });

  test('ALP-2: a certificate in its own name that another key has signed', async () => {
    expect(await probeWith({ signer: await generatePrivateKey('ec_256') })).toEqual(
      refused('that is not signed by its own key'),
    );
  });

  test('SEC-15: the certificate of another name at the same server', async () => {
    await applicant.answer({ ...probe, identifier: other });
    const pair = applicant.certificates.get(other.value);
    applicant.certificates.set(shop.value, pair ?? expect.fail());
    expect(await applicant.prober()(probe, never)).toEqual(refused('that names something else'));
  });
});

describe('the handshake', () => {
  const withServer = async (tls: TlsOptions): Promise<ProbeOutcome> => {
    const pair = await alpnCertificate(shop, keyAuthorization);
    await using served = await anApplicant({ tls });
    served.certificates.set(shop.value, pair);
    return await served.prober()(probe, never);
  };

  test('ALP-2, SEC-14: TLS 1.1 is refused', async () => {
    const { certificate, key } = await alpnCertificate(shop, keyAuthorization);
    const server = createTlsServer({
      cert: certificate,
      key,
      ALPNProtocols: ['acme-tls/1'],
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: tlsPort } = server.address() as AddressInfo;
    expect(await applicant.prober({ tlsPort })(probe, never)).toEqual(tlsError('does not speak TLS 1.2 or newer'));
    server.close();
  });

  test('ALP-2: TLS 1.2 is enough', async () => {
    expect(await withServer({ maxVersion: 'TLSv1.2' })).toEqual(valid);
  });

  test('ALP-1: a server with other protocols', async () => {
    expect(await withServer({ ALPNProtocols: ['h2', 'http/1.1'] })).toEqual(tlsError('does not offer this protocol'));
  });

  test('ALP-1: a server without protocols', async () => {
    const { certificate, key } = await alpnCertificate(shop, keyAuthorization);
    const server = createTlsServer({ cert: certificate, key }, (socket) => socket.on('error', () => undefined));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: tlsPort } = server.address() as AddressInfo;
    expect(await applicant.prober({ tlsPort })(probe, never)).toEqual(
      tlsError('speaks TLS but ignores the protocol (ALPN)'),
    );
    server.close();
  });

  test('a server that does not know the name', async () => {
    expect(await applicant.prober()(probe, never)).toEqual(tlsError('closed the connection during the handshake'));
  });

  test.each<[string, string, (socket: Socket) => void]>([
    ['plain text', 'does not speak TLS on this port', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['an end', 'closed the connection during the handshake', (socket) => socket.end()],
    ['a reset', 'closed the connection during the handshake', (socket) => socket.resetAndDestroy()],
    ['silence', 'did not finish it within 0.2 s', () => undefined],
  ])('CHA-12: a server that answers with %s is a tls error', async (_what, detail, talk) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => talk(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: tlsPort } = server.address() as AddressInfo;
    expect(await applicant.prober({ tlsPort, stepMs: 200 })(probe, never)).toEqual(tlsError(detail));
    server.close();
  });

  test('SEC-1: an address that is denied is not connected to', async () => {
    await applicant.answer(probe);
    expect(await applicant.prober({ policy: { allow: [] } })(probe, never)).toMatchObject({
      type: 'connection',
      detail: expect.stringContaining('127.0.0.1 is a loopback address'),
    });
  });

  test('a connection that has ended gives its place back', async () => {
    await applicant.answer(probe);
    const prober = applicant.prober({ perAddress: 1 });
    for (let count = 0; count < 5; count += 1) {
      let outcome = await prober(probe, never);
      while (outcome.outcome === 'busy') outcome = await prober(probe, never);
      expect(outcome).toEqual(valid);
    }
  });
});
