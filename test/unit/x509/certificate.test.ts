// Certificates: the octets of SEC-27 and RFC 5280 section 4, reading, and refusals.
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { buildTbsCertificate, isSignedBy, newSerial, parseCertificate } from '../../../src/x509/certificate.ts';
import { certificatePem, readCertificateChainPem, readCertificatePem } from '../../../src/x509/certificate-pem.ts';
import { bitString, encodeDer, explicit, integer, oid, raw, sequence, time } from '../../../src/x509/der-writer.ts';
import { basicConstraints, encodeExtensions, keyUsage } from '../../../src/x509/extensions.ts';
import { buildName } from '../../../src/x509/name.ts';
import { oids } from '../../../src/x509/oids.ts';
import { toPem } from '../../../src/x509/pem.ts';
import { aCertificate, aCsr, aKey, dns, refusalOf, san } from './builders.ts';

test('SEC-27: serials are 17 octets, the first between 0x01 and 0x7f, the others as random as they come', () => {
  for (let first = 0; first < 256; first++) {
    const serial = newSerial((size) => Buffer.alloc(size, first));
    expect(serial).toHaveLength(17);
    expect(serial.readUInt8(0)).toBeGreaterThanOrEqual(0x01);
    expect(serial.readUInt8(0)).toBeLessThanOrEqual(0x7f);
    expect(serial.subarray(1)).toEqual(Buffer.alloc(16, first));
  }
  expect(newSerial()).not.toEqual(newSerial());
});

test('reads back what it wrote, and node:crypto reads the same', async () => {
  const { spki } = await aKey();
  const der = await aCertificate({
    serial: Buffer.from('0080ff', 'hex'),
    extensions: [basicConstraints({ ca: true, pathLength: 1 }), keyUsage('keyCertSign'), san(dns('a.example'))],
  });
  const certificate = parseCertificate(der);
  expect(certificate).toMatchObject({
    version: 3,
    serial: Buffer.from('80ff', 'hex'),
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2045-12-31T23:59:59Z'),
    keyType: 'ec_256',
    spki,
    der,
    extensions: { basicConstraints: { ca: true, pathLength: 1 }, keyUsage: ['keyCertSign'] },
  });
  expect(certificate.subject.fields).toEqual({ CN: 'Test Root', O: 'Acme' });
  expect(certificate.issuer.der).toEqual(certificate.subject.der);
  expect(await isSignedBy(certificate, spki)).toBe(true);
  expect(await isSignedBy(certificate, (await aKey('ec_384')).spki)).toBe(false);
  expect(await isSignedBy(certificate, (await aKey('rsa_2048')).spki)).toBe(false);
  const other = new X509Certificate(der);
  expect(other.serialNumber).toBe('80FF');
  expect(other.subjectAltName).toBe('DNS:a.example');
  expect(other.verify(other.publicKey)).toBe(true);
});

test('the to-be-signed bytes are the same for the same fields, to the octet', () => {
  const name = buildName({ CN: 'R' });
  const spki = encodeDer(sequence(sequence(oid(oids.ed25519)), bitString(Buffer.alloc(32, 5))));
  const tbs = buildTbsCertificate({
    serial: Buffer.of(1),
    issuer: name,
    subject: name,
    notBefore: new Date('2026-01-01T00:00:00.900Z'),
    notAfter: new Date('2050-01-01T00:00:00Z'),
    spki,
    extensions: [],
    issuerKeyType: 'ec_256',
  });
  const expected = [
    'a003020102',
    '020101',
    '300a06082a8648ce3d040302',
    '300c310a300806035504030c0152',
    '3020170d3236303130313030303030305a180f32303530303130313030303030305a',
    '300c310a300806035504030c0152',
    spki.toString('hex'),
  ].join('');
  expect(tbs.toString('hex')).toBe(`307e${expected}`);
});

const validity = sequence(time(new Date('2026-01-01T00:00:00Z')), time(new Date('2027-01-01T00:00:00Z')));
const ecdsa = sequence(oid(oids.ecdsaWithSha256));
const anyName = raw(buildName({ CN: 'R' }));

async function frame(parts: {
  version?: number;
  serial?: Buffer;
  inner?: typeof ecdsa;
  extensions?: boolean;
  extra?: boolean;
}) {
  const { spki } = await aKey();
  const tbs = sequence(
    parts.version === undefined ? undefined : explicit(0, integer(parts.version)),
    raw(parts.serial ?? encodeDer(integer(5))),
    parts.inner ?? ecdsa,
    anyName,
    validity,
    anyName,
    raw(spki),
    parts.extensions === true ? explicit(3, encodeExtensions([basicConstraints({ ca: true })])) : undefined,
    parts.extra === true ? integer(1) : undefined,
  );
  return encodeDer(sequence(tbs, ecdsa, bitString(Buffer.alloc(70))));
}

test('reads version 1 without extensions', async () => {
  expect(parseCertificate(await frame({})).version).toBe(1);
  expect(parseCertificate(await frame({ version: 2, extensions: true })).version).toBe(3);
});

test.each([
  ['extensions in version 1', { extensions: true }],
  ['version 1 spelled out', { version: 0 }],
  ['version 4', { version: 3 }],
  ['a negative serial', { version: 2, serial: Buffer.from('0201ff', 'hex') }],
  ['an empty serial', { version: 2, serial: Buffer.from('0200', 'hex') }],
  ['a serial of 22 octets', { version: 2, serial: encodeDer(integer(Buffer.alloc(22, 0x11))) }],
  ['another algorithm inside', { version: 2, inner: sequence(oid(oids.ecdsaWithSha384)) }],
  ['an element too many', { version: 2, extensions: true, extra: true }],
])('refuses %s', async (_, parts) => {
  const der = await frame(parts);
  expect(await refusalOf(() => parseCertificate(der))).toBe('malformed');
});

test('a certificate with a key that is not accepted is still read', async () => {
  const der = await aCertificate();
  const strange = Buffer.from(der);
  // The curve of the public key becomes an unknown one; the signature no longer matters here.
  const curve = strange.indexOf(Buffer.from('06082a8648ce3d030107', 'hex'));
  strange.writeUInt8(0x09, curve + 9);
  expect(parseCertificate(strange).keyType).toBeUndefined();
});

test('a signature by explicit curve parameters is never verified (SEC-23)', async () => {
  const certificate = parseCertificate(await aCertificate());
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1', paramEncoding: 'explicit' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  expect(await refusalOf(() => isSignedBy(certificate, spki))).toBe('unsupported_key');
});

test('PEM: exactly one certificate, or a chain, and hints for what people confuse', async () => {
  const der = await aCertificate();
  const pem = certificatePem(der);
  expect(readCertificatePem(pem).der).toEqual(der);
  expect(readCertificateChainPem(pem + pem)).toHaveLength(2);
  expect(() => readCertificatePem(pem + pem)).toThrow('found 2');
  expect(() => readCertificatePem(toPem('CERTIFICATE REQUEST', der))).toThrow('have it signed first');
  expect(() => readCertificateChainPem('')).toThrow('found 0');
  expect(() => readCertificateChainPem(pem.repeat(11))).toThrow('found 11');
  expect(() => readCertificateChainPem(pem + toPem('PRIVATE KEY', der))).toThrow('keep it secret');
  const csr = await aCsr();
  expect(() => readCertificatePem(certificatePem(csr))).toThrow(expect.objectContaining({ code: 'malformed' }));
});
