// OCSP: requests as clients send them and as nobody should, and the bytes of answers.
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  boolean,
  type Encodable,
  encodeDer,
  explicit,
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
} from '../../../src/x509/der-writer.ts';
import { encodeExtensions } from '../../../src/x509/extensions.ts';
import { MAX_OCSP_REQUEST_BYTES, parseOcspRequest } from '../../../src/x509/ocsp-request.ts';
import {
  assembleOcspResponse,
  buildTbsOcspResponse,
  keyHashOf,
  ocspErrorResponse,
} from '../../../src/x509/ocsp-response.ts';
import { oids } from '../../../src/x509/oids.ts';
import { X509Error } from '../../../src/x509/x509-error.ts';
import { aCertificate, aKey, refusalOf } from './builders.ts';
import { mutantOf, octetMutantOf, seededRandom } from './mutants.ts';

type CertIdParts = {
  readonly algorithm?: Encodable;
  readonly nameHash?: Buffer;
  readonly keyHash?: Buffer;
  readonly serial?: Encodable;
};

const sha1 = () => sequence(oid(oids.sha1), nullValue());
const aCertId = ({ algorithm, nameHash, keyHash, serial }: CertIdParts = {}) =>
  sequence(
    algorithm ?? sha1(),
    octetString(nameHash ?? Buffer.alloc(20, 1)),
    octetString(keyHash ?? Buffer.alloc(20, 2)),
    serial ?? integer(0x8001),
  );

type RequestParts = {
  readonly version?: Encodable;
  readonly requestor?: Encodable;
  readonly list?: readonly Encodable[];
  readonly extensions?: Encodable;
  readonly signature?: Encodable;
};

const aRequest = ({ version, requestor, list, extensions, signature }: RequestParts = {}) =>
  encodeDer(
    sequence(
      sequence(version, requestor, sequence(...(list ?? [sequence(aCertId())])), extensions && explicit(2, extensions)),
      signature,
    ),
  );
const nonceValue = (value: Buffer, critical = false) => encodeExtensions([{ oid: oids.ocspNonce, critical, value }]);
const nonceOf = (octets: number) => nonceValue(encodeDer(octetString(Buffer.alloc(octets, 7))));
const refusal = (parts: RequestParts) => refusalOf(() => parseOcspRequest(aRequest(parts)));
const extensionOf = (identifier: string, critical: boolean) =>
  encodeExtensions([{ oid: identifier, critical, value: Buffer.of(5, 0) }]);

test('a request is read as it was sent', () => {
  const { certIds, nonce } = parseOcspRequest(aRequest());
  expect(certIds).toEqual([
    {
      der: encodeDer(aCertId()),
      hash: 'sha1',
      issuerNameHash: Buffer.alloc(20, 1),
      issuerKeyHash: Buffer.alloc(20, 2),
      serial: Buffer.of(0x80, 0x01),
    },
  ]);
  expect(nonce).toBeUndefined();
});

test('SHA-256 is read too, without parameters, and an unknown digest is told from a damaged one', () => {
  const hashes = { nameHash: Buffer.alloc(32, 1), keyHash: Buffer.alloc(32, 2) };
  const hashOf = (algorithm: Encodable, parts: CertIdParts = hashes) =>
    parseOcspRequest(aRequest({ list: [sequence(aCertId({ ...parts, algorithm }))] })).certIds[0]?.hash;
  expect(hashOf(sequence(oid(oids.sha256)))).toBe('sha256');
  expect(hashOf(sequence(oid(oids.sha384)))).toBeUndefined();
  expect(() => hashOf(sequence(oid(oids.sha256)), {})).toThrow(X509Error);
});

test('who asks, the signature and what need not be understood do not matter', () => {
  const { certIds, nonce } = parseOcspRequest(
    aRequest({
      version: explicit(0, integer(0)),
      requestor: explicit(1, octetString(Buffer.from('somebody'))),
      list: [sequence(aCertId(), explicit(0, extensionOf('1.3.6.1.5.5.7.48.1.7', false)))],
      extensions: encodeExtensions([
        { oid: oids.ocspAcceptableResponses, critical: true, value: Buffer.of(0x30, 0) },
        { oid: oids.ocspNonce, critical: true, value: Buffer.of(4, 1, 9) },
      ]),
      signature: explicit(0, sequence()),
    }),
  );
  expect(certIds).toHaveLength(1);
  expect(nonce).toEqual(Buffer.of(9));
});

test('RFC 9654: a nonce of 1 to 128 octets is taken', () => {
  const lengthOf = (octets: number) => parseOcspRequest(aRequest({ extensions: nonceOf(octets) })).nonce?.length;
  expect([1, 32, 128].map(lengthOf)).toEqual([1, 32, 128]);
});

const certs = (count: number) => Array.from({ length: count }, () => sequence(aCertId()));

test('twenty certificates may be asked about at once', () => {
  expect(parseOcspRequest(aRequest({ list: certs(20) })).certIds).toHaveLength(20);
});

test.each<readonly [string, RequestParts, string]>([
  ['no nonce octets', { extensions: nonceOf(0) }, 'malformed'],
  ['129 nonce octets', { extensions: nonceOf(129) }, 'malformed'],
  ['a nonce that is no OCTET STRING', { extensions: nonceValue(Buffer.alloc(16, 7)) }, 'malformed'],
  ['no certificate', { list: [] }, 'malformed'],
  ['21 certificates', { list: certs(21) }, 'too_large'],
  ['another version', { version: explicit(0, integer(1)) }, 'malformed'],
  ['an unknown critical extension', { extensions: extensionOf('1.2.3.4', true) }, 'bad_extension'],
  [
    'an unknown critical extension of one certificate',
    { list: [sequence(aCertId(), explicit(0, extensionOf('1.2.3.4', true)))] },
    'bad_extension',
  ],
  ['a negative serial', { list: [sequence(aCertId({ serial: sequence() }))] }, 'malformed'],
  ['a short name hash', { list: [sequence(aCertId({ nameHash: Buffer.alloc(19) }))] }, 'malformed'],
  ['a long key hash', { list: [sequence(aCertId({ keyHash: Buffer.alloc(21) }))] }, 'malformed'],
  [
    'other parameters of the digest',
    { list: [sequence(aCertId({ algorithm: sequence(oid(oids.sha1), boolean(true)) }))] },
    'malformed',
  ],
  ['too much of a requestor', { requestor: sequence() }, 'malformed'],
])('refuses %s', async (_, parts, code) => {
  expect(await refusal(parts)).toBe(code);
});

test('refuses what is larger than 16 KiB before reading it', async () => {
  expect(await refusalOf(() => parseOcspRequest(Buffer.alloc(MAX_OCSP_REQUEST_BYTES + 1)))).toBe('too_large');
});

test('thousands of damaged requests are refused or are requests', () => {
  const random = seededRandom(71);
  const original = aRequest({ list: certs(2), extensions: nonceOf(32) });
  for (let turn = 0; turn < 5_000; turn++) {
    let mutant = mutantOf(original, random);
    while (random(4) === 0) mutant = octetMutantOf(mutant, random);
    try {
      const { certIds } = parseOcspRequest(mutant);
      for (const { der } of certIds) expect(mutant.includes(der), mutant.toString('hex')).toBe(true);
    } catch (error) {
      if (!(error instanceof X509Error)) throw new Error(`Crashed on ${mutant.toString('hex')}`, { cause: error });
    }
  }
});

test('the bytes that are signed say each status in the words of the standard', () => {
  const thisUpdate = new Date('2050-01-02T03:04:05.678Z');
  const certId = encodeDer(aCertId());
  const tbs = buildTbsOcspResponse({
    responderKeyHash: Buffer.alloc(20, 3),
    thisUpdate,
    nextUpdate: new Date('2050-01-02T11:04:05Z'),
    nonce: Buffer.of(1, 2),
    statements: [
      { certId, status: { status: 'good' } },
      { certId, status: { status: 'revoked', revokedAt: thisUpdate, reason: 'keyCompromise' } },
      { certId, status: { status: 'revoked', revokedAt: thisUpdate, reason: 'unspecified' } },
      { certId, status: { status: 'unknown' } },
    ],
  });
  const time = '180f32303530303130323033303430355a';
  const until = 'a011180f32303530303130323131303430355a';
  const statement = (status: string) => {
    const body = certId.toString('hex') + status + time + until;
    return `30${(body.length / 2).toString(16)}${body}`;
  };
  const hex = tbs.toString('hex');
  expect(hex).toContain(`a2160414${'03'.repeat(20)}${time}`);
  expect(hex).toContain(statement('8000'));
  expect(hex).toContain(statement(`a116${time}a0030a0101`));
  expect(hex).toContain(statement(`a111${time}`));
  expect(hex).toContain(statement('8200'));
  expect(hex.endsWith('a1153013301106092b0601050507300102040404020102')).toBe(true);
});

test('an answer is tbs, signature and the certificate of who signed', async () => {
  const certificate = await aCertificate();
  const answer = assembleOcspResponse(Buffer.of(0x30, 0), 'ec_256', Buffer.of(1, 2, 3), certificate);
  const hex = answer.toString('hex');
  expect(hex).toContain('06092b0601050507300101');
  expect(hex).toContain('3000300a06082a8648ce3d040302030400010203');
  expect(answer.includes(certificate)).toBe(true);
});

test.each([
  ['malformedRequest', '30030a0101'],
  ['internalError', '30030a0102'],
  ['tryLater', '30030a0103'],
  ['unauthorized', '30030a0106'],
] as const)('%s is a code without a signature', (error, hex) => {
  expect(ocspErrorResponse(error).toString('hex')).toBe(hex);
});

test('the key hash is that of the bits of the key alone', async () => {
  const { spki } = await aKey();
  // The point of a P-256 key is the last 65 octets of its SubjectPublicKeyInfo.
  expect(keyHashOf(spki, 'sha1').toString('hex')).toBe(hash('sha1', spki.subarray(-65)));
});
