// Revocation lists: built to the octet, read in slices, and refused when damaged.
import { expect, test } from 'vitest';
import { isSignedBy } from '../../../src/x509/certificate.ts';
import { assembleCrl, buildTbsCrl, crlEntry } from '../../../src/x509/crl.ts';
import { findCrlEntry, parseCrl, readCrlPem } from '../../../src/x509/crl-reader.ts';
import {
  bitString,
  type Encodable,
  encodeDer,
  explicit,
  integer,
  oid,
  raw,
  sequence,
  sequenceOfRaw,
  time,
} from '../../../src/x509/der-writer.ts';
import { crlNumber, encodeExtensions } from '../../../src/x509/extensions.ts';
import { buildName } from '../../../src/x509/name.ts';
import { oids } from '../../../src/x509/oids.ts';
import { toPem } from '../../../src/x509/pem.ts';
import { signerOf } from '../../../src/x509/signer.ts';
import { X509Error } from '../../../src/x509/x509-error.ts';
import { aKey } from './builders.ts';
import { mutantOf, seededRandom } from './mutants.ts';

const issuer = buildName({ CN: 'Test Root' });
const revokedAt = new Date('2026-11-01T00:00:00Z');
const entriesOf = (...serials: readonly number[]) =>
  Buffer.concat(serials.map((serial) => crlEntry(Buffer.of(serial), revokedAt, 'keyCompromise')));

async function aCrl(entries: Buffer): Promise<Buffer> {
  const signer = signerOf(await aKey());
  const tbs = buildTbsCrl({
    issuer,
    thisUpdate: new Date('2026-11-21T00:00:00Z'),
    nextUpdate: new Date('2026-11-27T23:59:59Z'),
    entries: [entries],
    number: 1_795_000_000_000n,
    issuerKeyIdentifier: Buffer.alloc(20, 3),
    issuerKeyType: signer.keyType,
  });
  return assembleCrl(tbs, signer.keyType, await signer.sign(tbs));
}

test('RFC 5280 section 5.3.1: an entry names its reason, but not the unspecified one', () => {
  expect(crlEntry(Buffer.of(0x80), revokedAt, 'superseded').toString('hex')).toBe(
    '302102020080170d3236313130313030303030305a300c300a0603551d1504030a0104',
  );
  expect(crlEntry(Buffer.of(5), revokedAt, 'unspecified').toString('hex')).toBe(
    '3012020105170d3236313130313030303030305a',
  );
  expect(crlEntry(Buffer.of(5), revokedAt, 'removeFromCRL').at(-1)).toBe(8);
});

test('reads back what it wrote', async () => {
  const crl = await parseCrl(await aCrl(entriesOf(1, 2, 0x90)));
  expect(crl).toMatchObject({
    thisUpdate: new Date('2026-11-21T00:00:00Z'),
    nextUpdate: new Date('2026-11-27T23:59:59Z'),
    entryCount: 3,
    extensions: { crlNumber: 1_795_000_000_000n, authorityKeyIdentifier: Buffer.alloc(20, 3), unknownCritical: [] },
  });
  expect(crl.issuer.der).toEqual(issuer);
  expect(await isSignedBy(crl, (await aKey()).spki)).toBe(true);
  expect(findCrlEntry(crl, Buffer.of(0x90))).toEqual({ serial: Buffer.of(0x90), revokedAt, reason: 'keyCompromise' });
  expect(findCrlEntry(crl, Buffer.of(0x91))).toBeUndefined();
  expect(findCrlEntry(crl, Buffer.of(0, 1))).toBeUndefined();
});

test('a list without entries has no field for them', async () => {
  const crl = await parseCrl(await aCrl(Buffer.alloc(0)));
  expect(crl.entryCount).toBe(0);
  expect(crl.tbs.includes(Buffer.from('3000', 'hex'))).toBe(false);
  expect(await readCrlPem(toPem('X509 CRL', crl.der))).toEqual(crl);
});

test('reads a hundred thousand entries while others run', async () => {
  const entry = crlEntry(Buffer.alloc(17, 1), revokedAt, 'superseded');
  const many = Buffer.from(entry.toString('hex').repeat(100_000), 'hex');
  const der = await aCrl(Buffer.concat([many, entriesOf(9)]));
  let turns = 0;
  const count = () => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const crl = await parseCrl(der);
  clearImmediate(timer);
  expect(crl.entryCount).toBe(100_001);
  expect(turns).toBeGreaterThanOrEqual(3);
  expect(findCrlEntry(crl, Buffer.of(9))?.reason).toBe('keyCompromise');
});

const ecdsa = sequence(oid(oids.ecdsaWithSha256));
const date = time(revokedAt);
const extensions = explicit(0, encodeExtensions([crlNumber(1n)]));
const list = (...parts: readonly (Encodable | undefined)[]) =>
  encodeDer(sequence(sequence(...parts), ecdsa, bitString(Buffer.alloc(8))));
/** An entry that is good but for its header; the length octet of the good one follows. */
const withLength = (header: string) =>
  Buffer.concat([Buffer.from(header, 'hex'), crlEntry(Buffer.of(5), revokedAt, 'unspecified').subarray(1)]);
const withEntry = (entry: Encodable) => list(integer(1), ecdsa, raw(issuer), date, date, sequence(entry), extensions);

test('takes lists of version 1 and without a next date', async () => {
  expect(await parseCrl(list(ecdsa, raw(issuer), date))).toMatchObject({ nextUpdate: undefined, entryCount: 0 });
});

test.each([
  ['version 1 with extensions', list(ecdsa, raw(issuer), date, extensions)],
  ['version 3', list(integer(2), ecdsa, raw(issuer), date, extensions)],
  ['another algorithm inside', list(integer(1), sequence(oid(oids.ecdsaWithSha384)), raw(issuer), date)],
  ['an element too many', list(integer(1), ecdsa, raw(issuer), date, extensions, integer(1))],
  ['no date', list(integer(1), ecdsa, raw(issuer))],
  ['an entry without time', withEntry(sequence(integer(5)))],
  ['an entry with a number for a time', withEntry(sequence(integer(5), integer(6)))],
  ['an entry that is no sequence', withEntry(integer(5))],
  ['an entry with a negative serial', withEntry(sequence(raw(Buffer.from('0201ff', 'hex')), date))],
  ['an entry with an element too many', withEntry(sequence(integer(5), date, integer(1)))],
  ['bytes after the end', Buffer.concat([list(ecdsa, raw(issuer), date), Buffer.of(0)])],
  ['an entry longer than its list', list(ecdsa, raw(issuer), date, sequenceOfRaw(Buffer.from('300502010517', 'hex')))],
  ['a length of one octet too many', list(ecdsa, raw(issuer), date, sequenceOfRaw(withLength('3081')))],
  ['a length with a leading zero', list(ecdsa, raw(issuer), date, sequenceOfRaw(withLength('308200')))],
  ['an indefinite length', list(ecdsa, raw(issuer), date, sequenceOfRaw(withLength('3080')))],
  ['nothing', Buffer.alloc(0)],
])('refuses %s', async (_, der) => {
  await expect(parseCrl(der)).rejects.toMatchObject({ name: 'X509Error', code: 'malformed' });
});

test('refuses more than 32 MiB before it looks', async () => {
  await expect(parseCrl(Buffer.alloc(33_554_433))).rejects.toMatchObject({ code: 'too_large' });
});

test('no mutant of a list keeps its signature, and none crashes the readers', async () => {
  const der = await aCrl(entriesOf(1, 2, 3));
  const { spki } = await aKey();
  const random = seededRandom(71);
  for (let turn = 0; turn < 1_500; turn++) {
    const mutant = mutantOf(der, random);
    if (mutant.equals(der)) continue;
    try {
      const crl = await parseCrl(mutant);
      expect(await isSignedBy(crl, spki), mutant.toString('hex')).toBe(false);
      findCrlEntry(crl, Buffer.of(2));
    } catch (error) {
      expect(error, mutant.toString('hex')).toBeInstanceOf(X509Error);
    }
  }
});
