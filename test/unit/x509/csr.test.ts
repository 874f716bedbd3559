// Certificate signing requests: the facts of FIN-2, FIN-3, FIN-6 and FIN-8, the proof of the key, and hostile requests.
import { constants, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import { buildCsr, csrPem, parseCsr, readCsrPem, verifyCsr } from '../../../src/x509/csr.ts';
import {
  bitString,
  type Encodable,
  encodeDer,
  explicit,
  implicit,
  implicitSequence,
  integer,
  nullValue,
  octetString,
  oid,
  raw,
  sequence,
  sequenceOfRaw,
  setOfOne,
  utf8,
} from '../../../src/x509/der-writer.ts';
import { basicConstraints, extendedKeyUsage, keyUsage, mustStaple } from '../../../src/x509/extensions.ts';
import { buildName } from '../../../src/x509/name.ts';
import { oids } from '../../../src/x509/oids.ts';
import { signerOf } from '../../../src/x509/signer.ts';
import { aCsr, aKey, dns, extensionRequest, ip, refusalOf, rsaSpki, san } from './builders.ts';

const accept = async (der: Buffer) => {
  const csr = parseCsr(der);
  await verifyCsr(csr);
  return csr;
};
const refusal = (der: Buffer) => refusalOf(() => accept(der));
const part = (type: string, value: string) => setOfOne(sequence(oid(type), utf8(value)));

test.each(['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'ed25519'] as const)(
  'accepts a good request by %s',
  async (keyType) => {
    const key = await aKey(keyType);
    const csr = await accept(await aCsr({ extensions: [san(dns('a.example'))] }, key));
    expect(csr).toMatchObject({
      keyType,
      spki: key.spki,
      names: [dns('a.example')],
      requestsCa: false,
      mustStaple: false,
    });
  },
);

test('FIN-2: names are those of SAN and CN, in lower case, each once, SAN first', async () => {
  const csr = await accept(
    await aCsr({
      subject: { CN: 'C.Example', O: 'ignored' },
      extensions: [san(dns('B.example'), ip('2001:DB8::1'), dns('b.EXAMPLE'), dns('c.example'))],
    }),
  );
  expect(csr.names).toEqual([dns('b.example'), ip('2001:db8::1'), dns('c.example')]);
  expect(csr.commonNames).toEqual(['C.Example']);
});

test('FIN-2: a request with a CN alone names it', async () => {
  expect((await accept(await aCsr({ subject: { CN: 'only.example' }, attributes: [] }))).names).toEqual([
    dns('only.example'),
  ]);
});

test('FIN-3: a CN that is an IP literal counts as ip', async () => {
  const namesOf = async (CN: string) => (await accept(await aCsr({ subject: { CN }, attributes: [] }))).names;
  expect(await namesOf('10.0.0.1')).toEqual([ip('10.0.0.1')]);
  expect(await namesOf('2001:DB8:0::1')).toEqual([ip('2001:db8::1')]);
  expect(await namesOf('fe80::1%eth0')).toEqual([dns('fe80::1%eth0')]);
});

test('a CN with a letter that only Unicode folds to a-z stays another name (ORD-5)', async () => {
  const { names } = await accept(await aCsr({ subject: { CN: '\u212aube.Example' }, attributes: [] }));
  expect(names).toEqual([{ type: 'dns', value: '\u212aube.example' }]);
});

test('every one of several CNs is a name', async () => {
  const subject = encodeDer(sequence(part(oids.commonName, 'a.example'), part(oids.commonName, 'b.example')));
  expect((await accept(await aCsr({ subject, attributes: [] }))).names).toEqual([dns('a.example'), dns('b.example')]);
});

test('an empty CN names nothing', async () => {
  const subject = encodeDer(sequence(part(oids.commonName, '')));
  expect(await accept(await aCsr({ subject }))).toMatchObject({ commonNames: [], names: [dns('a.example')] });
});

test('FIN-8: shows what is asked for beyond names', async () => {
  const asked = [basicConstraints({ ca: true }), keyUsage('keyCertSign'), extendedKeyUsage('clientAuth'), mustStaple()];
  const unknown = { oid: '1.2.3.4', critical: true, value: Buffer.of(5, 0) };
  const csr = await accept(await aCsr({ extensions: [...asked, unknown] }));
  expect(csr).toMatchObject({ requestsCa: true, mustStaple: true, unknownCriticalExtensions: ['1.2.3.4'], names: [] });
  const plain = await accept(await aCsr({ extensions: [basicConstraints({ ca: false })] }));
  expect(plain).toMatchObject({ requestsCa: false, mustStaple: false, unknownCriticalExtensions: [] });
});

test('FIN-8: names the kinds of SAN entries that nobody gets', async () => {
  const value = encodeDer(
    sequence(
      implicit(1, Buffer.from('a@b')),
      implicit(2, Buffer.from('a.example')),
      implicit(6, Buffer.from('spiffe://a')),
    ),
  );
  const csr = await accept(await aCsr({ extensions: [{ oid: oids.subjectAltName, critical: false, value }] }));
  expect(csr).toMatchObject({ names: [dns('a.example')], otherNameKinds: ['email', 'uri'] });
});

test('ignores attributes that mean nothing here', async () => {
  const password = sequence(oid('1.2.840.113549.1.9.7'), setOfOne(utf8('secret')));
  const windows = sequence(oid('1.3.6.1.4.1.311.13.2.3'), setOfOne(utf8('10.0')));
  const csr = await accept(await aCsr({ attributes: [password, windows, extensionRequest(san(dns('a.example')))] }));
  expect(csr.names).toEqual([dns('a.example')]);
});

test('accepts RSA-PSS and every SHA-2, refuses SHA-1, and verifies what it accepts', async () => {
  const { key, spki } = await aKey('rsa_2048');
  const tbs = encodeDer(sequence(integer(0), raw(buildName({})), raw(spki), implicitSequence(0)));
  const request = (algorithm: Encodable, signature: Buffer) =>
    encodeDer(sequence(raw(tbs), algorithm, bitString(signature)));
  const rsa = (identifier: string) => sequence(oid(identifier), nullValue());
  expect(await refusal(request(rsa(oids.sha384WithRSAEncryption), sign('sha384', tbs, key)))).toBe('accepted');
  expect(await refusal(request(rsa(oids.sha512WithRSAEncryption), sign('sha512', tbs, key)))).toBe('accepted');
  expect(await refusal(request(rsa(oids.sha512WithRSAEncryption), sign('sha256', tbs, key)))).toBe('bad_signature');
  expect(await refusal(request(rsa('1.2.840.113549.1.1.5'), sign('sha1', tbs, key)))).toBe('unsupported_algorithm');
  expect(() => parseCsr(request(rsa('1.2.840.113549.1.1.5'), sign('sha1', tbs, key)))).toThrow('SHA-1 with RSA');

  const padding = { key, padding: constants.RSA_PKCS1_PSS_PADDING };
  const pss = (hash: string, maskHash: string, saltLength: number) =>
    sequence(
      oid(oids.rsassaPss),
      sequence(
        explicit(0, sequence(oid(hash), nullValue())),
        explicit(1, sequence(oid(oids.mgf1), sequence(oid(maskHash), nullValue()))),
        explicit(2, integer(saltLength)),
      ),
    );
  const signed = sign('sha256', tbs, { ...padding, saltLength: 32 });
  expect(await refusal(request(pss(oids.sha256, oids.sha256, 32), signed))).toBe('accepted');
  expect(await refusal(request(pss(oids.sha256, oids.sha256, 20), signed))).toBe('bad_signature');
  expect(await refusal(request(pss(oids.sha256, oids.sha384, 32), signed))).toBe('unsupported_algorithm');
  expect(await refusal(request(sequence(oid(oids.rsassaPss), sequence()), signed))).toBe('unsupported_algorithm');
  expect(await refusal(request(pss('1.3.14.3.2.26', '1.3.14.3.2.26', 20), sign('sha1', tbs, padding)))).toBe(
    'unsupported_algorithm',
  );
});

test('refuses a signature by another key, over other bytes, or of another family', async () => {
  const stranger = await aKey('ec_384');
  expect(await refusal(await aCsr({ spki: (await aKey()).spki }, stranger))).toBe('bad_signature');
  const rsa = encodeDer(sequence(oid(oids.sha256WithRSAEncryption), nullValue()));
  expect(await refusal(await aCsr({ algorithm: rsa }))).toBe('bad_signature');
  expect(await refusal(await aCsr({ algorithm: encodeDer(sequence(oid(oids.ed25519))) }))).toBe('bad_signature');
  const good = await aCsr();
  const short = encodeDer(
    sequence(
      ...['tbs'].map(() => raw(parseCsr(good).tbs)),
      sequence(oid(oids.ecdsaWithSha256)),
      bitString(Buffer.alloc(0)),
    ),
  );
  expect(await refusal(short)).toBe('bad_signature');
});

test('refuses a weak key even when its owner signs with it', async () => {
  const weak = rsaSpki(((1n << 2047n) / 3n + 1n) * 3n);
  expect(await refusal(await aCsr({ spki: weak }, await aKey('rsa_2048')))).toBe('weak_key');
});

const explicitCurve = sequence(
  oid(oids.ecPublicKey),
  sequence(integer(1), sequence(oid('1.2.840.10045.1.1'), integer(23))),
);

test.each([
  ['FIN-6: version 3', { version: integer(2) }, 'malformed'],
  ['a negative version', { version: raw(Buffer.from('0201ff', 'hex')) }, 'malformed'],
  ['FIN-6: two SAN extensions', { extensions: [san(dns('a.example')), san(dns('b.example'))] }, 'bad_extension'],
  [
    'FIN-6: two extension requests',
    { attributes: [extensionRequest(san(dns('a'))), extensionRequest(san(dns('b')))] },
    'malformed',
  ],
  [
    'an extension request without value',
    { attributes: [sequence(oid(oids.extensionRequest), sequenceOfRaw(Buffer.alloc(0)))] },
    'malformed',
  ],
  [
    'fifty-one attributes',
    { attributes: Array.from({ length: 51 }, () => sequence(oid('1.2.3'), setOfOne(nullValue()))) },
    'too_large',
  ],
  [
    'explicit EC parameters (SEC-23)',
    { spki: encodeDer(sequence(explicitCurve, bitString(Buffer.alloc(65, 4)))) },
    'unsupported_key',
  ],
  [
    'a huge object identifier',
    {
      attributes: [
        sequence(
          raw(Buffer.concat([Buffer.from('0682ea60', 'hex'), Buffer.alloc(59_999, 0xff), Buffer.of(1)])),
          setOfOne(nullValue()),
        ),
      ],
    },
    'malformed',
  ],
  [
    'a request of more than 64 kB',
    { attributes: [sequence(oid('1.2.3'), setOfOne(octetString(Buffer.alloc(66_000))))] },
    'too_large',
  ],
  [
    'thousands of names',
    { extensions: [san(...Array.from({ length: 2_000 }, (_, index) => dns(`n${index}.example`)))] },
    'too_large',
  ],
  ['a NUL in the CN (SEC-24)', { subject: encodeDer(sequence(part(oids.commonName, 'a.com\0.evil'))) }, 'malformed'],
] as const)('refuses %s', async (_, parts, code) => {
  expect(await refusal(await aCsr(parts))).toBe(code);
});

test('refuses bytes after the end, indefinite length, and an empty request', async () => {
  const good = await aCsr();
  expect(await refusal(Buffer.concat([good, Buffer.of(0)]))).toBe('malformed');
  expect(await refusal(Buffer.concat([Buffer.of(0x30, 0x80), good.subarray(4), Buffer.alloc(2)]))).toBe('malformed');
  expect(await refusal(Buffer.alloc(0))).toBe('malformed');
  expect(await refusal(Buffer.from('3000', 'hex'))).toBe('malformed');
});

test('a request by a CA for a parent elsewhere reads back, as PEM too', async () => {
  const key = await aKey('ec_384');
  const subject = buildName({ CN: 'Acme Intermediate', O: 'Acme' });
  const der = await buildCsr({ subject, extensions: [basicConstraints({ ca: true, pathLength: 0 })] }, signerOf(key));
  const csr = readCsrPem(csrPem(der));
  await verifyCsr(csr);
  expect(csr).toMatchObject({ keyType: 'ec_384', requestsCa: true, spki: key.spki });
  expect(csr.subject.der).toEqual(subject);
  await verifyCsr(parseCsr(await buildCsr({ subject, extensions: [] }, signerOf(key))));
});

test('no CA key signs with Ed25519', async () => {
  const key = await aKey('ed25519');
  expect(() => signerOf(key)).toThrow(expect.objectContaining({ code: 'unsupported_key' }));
});
