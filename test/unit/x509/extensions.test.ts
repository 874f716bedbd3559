// Certificate extensions: built to the octet, read back, and refused when they can be read two ways.
import { expect, test } from 'vitest';
import { parseDer } from '../../../src/x509/der.ts';
import {
  boolean,
  encodeDer,
  implicit,
  implicitSequence,
  integer,
  octetString,
  oid,
  raw,
  sequence,
} from '../../../src/x509/der-writer.ts';
import { parseExtensions } from '../../../src/x509/extension-reader.ts';
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoint,
  crlNumber,
  type Extension,
  encodeExtensions,
  extendedKeyUsage,
  keyUsage,
  mustStaple,
  nameConstraints,
  ocspNoCheck,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../../src/x509/extensions.ts';
import { oids } from '../../../src/x509/oids.ts';
import { dns, ip, refusalOf, san } from './builders.ts';

const read = (...extensions: readonly Extension[]) =>
  parseExtensions(parseDer(encodeDer(encodeExtensions(extensions)), 'it'), 'the certificate');
const value = (identifier: string, der: Buffer, critical = false): Extension => ({
  oid: identifier,
  critical,
  value: der,
});

test.each([
  ['basicConstraints of a CA', basicConstraints({ ca: true }), '30030101ff', true],
  ['basicConstraints of the last CA', basicConstraints({ ca: true, pathLength: 0 }), '30060101ff020100', true],
  ['basicConstraints of a leaf', basicConstraints({ ca: false }), '3000', true],
  ['keyUsage of a CA', keyUsage('keyCertSign', 'cRLSign'), '03020106', true],
  ['keyUsage of a leaf', keyUsage('digitalSignature', 'keyEncipherment'), '030205a0', true],
  ['extKeyUsage', extendedKeyUsage('serverAuth', 'clientAuth'), '301406082b0601050507030106082b06010505070302', false],
  ['subjectKeyIdentifier', subjectKeyIdentifier(Buffer.of(1, 2)), '04020102', false],
  ['authorityKeyIdentifier', authorityKeyIdentifier(Buffer.of(1, 2)), '300480020102', false],
  ['subjectAltName', san(dns('A.b'), ip('10.0.0.1')), '300b8203612e6287040a000001', false],
  [
    'cRLDistributionPoints',
    crlDistributionPoint('http://a/b'),
    `30123010a00ea00c860a${Buffer.from('http://a/b').toString('hex')}`,
    false,
  ],
  ['TLS feature', mustStaple(), '3003020105', false],
  ['cRLNumber', crlNumber(128n), '02020080', false],
  ['ocsp-nocheck', ocspNoCheck(), '0500', false],
])('writes %s', (_, extension, hex, critical) => {
  expect(extension.value.toString('hex')).toBe(hex);
  expect(extension.critical).toBe(critical);
});

test('reads back what it wrote', () => {
  const constraints = {
    permittedDns: ['corp.example'],
    excludedDns: ['.bad.corp.example', ''],
    permittedIp: ['10.0.0.0/8', '2001:db8::/32'],
    excludedIp: ['0.0.0.0/0'],
  };
  const found = read(
    basicConstraints({ ca: true, pathLength: 3 }),
    keyUsage('keyCertSign', 'cRLSign'),
    extendedKeyUsage('serverAuth', 'OCSPSigning'),
    subjectKeyIdentifier(Buffer.of(1)),
    authorityKeyIdentifier(Buffer.of(2)),
    subjectAltName([dns('*.a.example'), ip('::1')], { critical: true }),
    nameConstraints(constraints),
    crlDistributionPoint('http://ca.example/crl/1'),
    authorityInfoAccess({ ocsp: 'http://ca.example/ocsp', caIssuers: 'http://ca.example/ca' }),
    mustStaple(),
    crlNumber(1n << 80n),
  );
  expect(found).toMatchObject({
    basicConstraints: { ca: true, pathLength: 3 },
    keyUsage: ['keyCertSign', 'cRLSign'],
    extendedKeyUsage: ['serverAuth', 'OCSPSigning'],
    subjectKeyIdentifier: Buffer.of(1),
    authorityKeyIdentifier: Buffer.of(2),
    subjectAltNames: [dns('*.a.example'), ip('::1')],
    nameConstraints: { ...constraints, otherKinds: [] },
    crlUrls: ['http://ca.example/crl/1'],
    ocspUrls: ['http://ca.example/ocsp'],
    caIssuersUrls: ['http://ca.example/ca'],
    mustStaple: true,
    crlNumber: 1n << 80n,
    unknownCritical: [],
  });
  expect(found.all).toHaveLength(11);
});

test('keeps unknown extensions and lists the critical ones', () => {
  const unknown = value('1.2.3.4', Buffer.from('not even DER'));
  const found = read(unknown, value('1.2.3.5', Buffer.alloc(0), true));
  expect(found.all[0]).toEqual(unknown);
  expect(found.unknownCritical).toEqual(['1.2.3.5']);
});

test('takes an explicit FALSE, which is not DER but common', () => {
  const spelled = sequence(
    sequence(oid(oids.basicConstraints), boolean(false), octetString(encodeDer(sequence(boolean(false))))),
  );
  const found = parseExtensions(parseDer(encodeDer(spelled), 'it'), 'the certificate');
  expect(found.basicConstraints).toEqual({ ca: false, pathLength: undefined });
  expect(found.all[0]?.critical).toBe(false);
});

const names = (...children: readonly Buffer[]) => encodeDer(sequence(...children.map((child) => raw(child))));
const subtree = (tag: number, contents: Buffer) =>
  encodeDer(sequence(implicitSequence(0, sequence(implicit(tag, contents)))));

test.each([
  ['two of one kind', () => read(san(dns('a')), san(dns('b'))), 'bad_extension'],
  ['two unknown of one kind', () => read(value('1.2.3', Buffer.of(1)), value('1.2.3', Buffer.of(1))), 'bad_extension'],
  [
    'more than a hundred',
    () => read(...Array.from({ length: 101 }, (_, arc) => value(`1.2.3.${arc}`, Buffer.of(1)))),
    'too_large',
  ],
  ['bytes after a value', () => read(value(oids.basicConstraints, Buffer.from('30030101ff00', 'hex'))), 'malformed'],
  ['a value that is not DER', () => read(value(oids.subjectAltName, Buffer.from('308000', 'hex'))), 'malformed'],
  ['a path length without CA', () => read(value(oids.basicConstraints, Buffer.from('3003020101', 'hex'))), 'malformed'],
  [
    'a negative path length',
    () => read(value(oids.basicConstraints, Buffer.from('30060101ff0201ff', 'hex'))),
    'malformed',
  ],
  ['an empty extKeyUsage (SEC-11)', () => read(value(oids.extKeyUsage, Buffer.from('3000', 'hex'))), 'malformed'],
  ['an empty SAN', () => read(value(oids.subjectAltName, Buffer.from('3000', 'hex'))), 'bad_extension'],
  [
    'an iPAddress of 3 octets',
    () => read(value(oids.subjectAltName, names(encodeDer(implicit(7, Buffer.of(10, 0, 0)))))),
    'bad_name',
  ],
  [
    'an iPAddress of 8 octets',
    () => read(value(oids.subjectAltName, names(encodeDer(implicit(7, Buffer.alloc(8)))))),
    'bad_name',
  ],
  [
    'a NUL in a dNSName',
    () => read(value(oids.subjectAltName, names(encodeDer(implicit(2, Buffer.from('a.com\0.evil')))))),
    'bad_name',
  ],
  [
    'an empty dNSName',
    () => read(value(oids.subjectAltName, names(encodeDer(implicit(2, Buffer.alloc(0)))))),
    'bad_name',
  ],
  [
    'a dNSName in UTF-8',
    () => read(value(oids.subjectAltName, names(encodeDer(implicit(2, Buffer.from('zoë.example')))))),
    'bad_name',
  ],
  [
    'a dNSName of 300 octets',
    () => read(value(oids.subjectAltName, names(encodeDer(implicit(2, Buffer.alloc(300, 0x61)))))),
    'bad_name',
  ],
  [
    'a constructed dNSName',
    () => read(value(oids.subjectAltName, names(encodeDer(implicitSequence(2, integer(1)))))),
    'bad_extension',
  ],
  [
    'a name of no known kind',
    () => read(value(oids.subjectAltName, names(encodeDer(implicit(9, Buffer.of(1)))))),
    'bad_extension',
  ],
  [
    'a thousand and one names',
    () =>
      read(
        value(
          oids.subjectAltName,
          names(...Array.from({ length: 1_001 }, () => encodeDer(implicit(2, Buffer.from('a'))))),
        ),
      ),
    'too_large',
  ],
  ['a network of 6 octets', () => read(value(oids.nameConstraints, subtree(7, Buffer.alloc(6)))), 'bad_extension'],
  [
    'a mask with gaps',
    () => read(value(oids.nameConstraints, subtree(7, Buffer.from('0a000000ff00ff00', 'hex')))),
    'bad_extension',
  ],
  ['a domain with a NUL', () => read(value(oids.nameConstraints, subtree(2, Buffer.from('a\0b')))), 'bad_name'],
  ['a CRL number that is negative', () => read(value(oids.crlNumber, Buffer.from('0201ff', 'hex'))), 'malformed'],
  ['a CRL number of 21 octets', () => read(value(oids.crlNumber, encodeDer(integer(1n << 160n)))), 'malformed'],
])('refuses %s', async (_, action, code) => {
  expect(await refusalOf(action)).toBe(code);
});

test('names other kinds in a SAN and in name constraints', () => {
  const email = encodeDer(implicit(1, Buffer.from('a@b')));
  const uri = encodeDer(implicit(6, Buffer.from('spiffe://a/b')));
  const other = encodeDer(implicitSequence(0, oid('1.2.3')));
  expect(read(value(oids.subjectAltName, names(email, uri, other))).subjectAltNames).toEqual([
    { type: 'other', value: 'email' },
    { type: 'uri', value: 'spiffe://a/b' },
    { type: 'other', value: 'otherName' },
  ]);
  expect(
    read(value(oids.nameConstraints, subtree(1, Buffer.from('corp.example')))).nameConstraints?.otherKinds,
  ).toEqual(['email']);
});

test('refuses to write what it would refuse to read', async () => {
  const empty = { permittedDns: [], excludedDns: [], permittedIp: [], excludedIp: [] };
  expect(await refusalOf(() => nameConstraints(empty))).toBe('bad_extension');
  expect(await refusalOf(() => nameConstraints({ ...empty, permittedDns: ['a b'] }))).toBe('bad_name');
  expect(await refusalOf(() => nameConstraints({ ...empty, permittedIp: ['10.0.0.1/8'] }))).toBe('bad_name');
  expect(await refusalOf(() => san(dns('a\0b')))).toBe('bad_name');
  expect(await refusalOf(() => san(ip('10.0.0')))).toBe('bad_name');
  expect(await refusalOf(() => crlDistributionPoint('no scheme'))).toBe('bad_name');
});
