// The lint of leaves (SEC-40): what was decided passes, and bytes that say anything else are named by the rule they break.
import { beforeAll, expect, test } from 'vitest';
import { buildLeaf } from '../../../src/core/leaf-certificate.ts';
import { keyAlgorithms } from '../../../src/x509/algorithms.ts';
import { buildTbsCertificate, newSerial, parseTbsCertificate } from '../../../src/x509/certificate.ts';
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoint,
  type Extension,
  extendedKeyUsage,
  keyUsage,
  mustStaple,
  ocspNoCheck,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../../src/x509/extensions.ts';
import { isEndEntity, type LeafFields, lintLeaf } from '../../../src/x509/lint.ts';
import { buildName } from '../../../src/x509/name.ts';
import { keyIdentifierOf } from '../../../src/x509/spki.ts';
import { aKey, dns, ip } from './builders.ts';

const url = 'http://pki.corp.example/x';
const SERIAL = newSerial();
let fields: LeafFields;
beforeAll(async () => {
  const issuer = await aKey('ec_384');
  fields = {
    serial: SERIAL,
    notBefore: new Date('2026-05-17T12:00:00Z'),
    notAfter: new Date('2026-08-15T11:59:59Z'),
    commonName: undefined,
    spki: (await aKey()).spki,
    keyType: 'ec_256',
    names: [dns('shop.corp.example'), ip('10.0.0.1')],
    extendedKeyUsage: ['serverAuth'],
    mustStaple: false,
    issuer: {
      subject: buildName({ CN: 'Issuing', O: 'Corp' }),
      keyType: 'ec_384',
      keyIdentifier: keyIdentifierOf(issuer.spki),
      notBefore: new Date('2026-01-01T00:00:00Z'),
      notAfter: new Date('2036-01-01T00:00:00Z'),
    },
    urls: { crl: url, ocsp: url, caIssuers: url },
  };
});

type Parts = Partial<Parameters<typeof buildTbsCertificate>[0]>;

const usual = (): readonly Extension[] => [
  basicConstraints({ ca: false }),
  keyUsage('digitalSignature'),
  extendedKeyUsage('serverAuth'),
  subjectAltName(fields.names, { critical: true }),
  authorityKeyIdentifier(fields.issuer.keyIdentifier),
  subjectKeyIdentifier(keyIdentifierOf(fields.spki)),
  crlDistributionPoint(url),
  authorityInfoAccess({ ocsp: url, caIssuers: url }),
];
const bytes = (parts: Parts = {}): Buffer =>
  buildTbsCertificate({
    serial: fields.serial,
    issuer: fields.issuer.subject,
    subject: buildName({}),
    notBefore: fields.notBefore,
    notAfter: fields.notAfter,
    spki: fields.spki,
    extensions: usual(),
    issuerKeyType: fields.issuer.keyType,
    ...parts,
  });
/** The usual extensions with one of them replaced, or left out. */
const replacing = (index: number, ...others: readonly Extension[]): Parts => ({
  extensions: usual().toSpliced(index, 1, ...others),
});

test('what is built of the fields is what passes', () => {
  expect(buildLeaf(fields)).toEqual(bytes());
  expect(lintLeaf(bytes(), fields)).toMatchObject({ tbs: { serial: fields.serial } });
  const withName = { ...fields, commonName: 'shop.corp.example', mustStaple: true };
  expect(lintLeaf(buildLeaf(withName), withName)).toHaveProperty('tbs');
});

test.each<[string, () => Parts]>([
  ['serial', () => ({ serial: Buffer.alloc(17, 1) })],
  ['signature_algorithm', () => ({ issuerKeyType: 'ec_256' })],
  ['issuer', () => ({ issuer: buildName({ CN: 'Another' }) })],
  ['dates', () => ({ notAfter: new Date('2026-08-15T12:00:00Z') })],
  ['dates', () => ({ notBefore: new Date('2026-05-17T12:00:01Z') })],
  ['subject', () => ({ subject: buildName({ CN: 'shop.corp.example' }) })],
  ['public_key', () => ({ spki: keyAlgorithms.ec_384.spkiAlgorithm })],
  ['extensions', () => replacing(0)],
  ['extensions', () => ({ extensions: [...usual(), mustStaple()] })],
  ['extensions', () => ({ extensions: [...usual(), ocspNoCheck()] })],
  ['extensions', () => replacing(3, subjectAltName(fields.names, { critical: false }))],
  ['basic_constraints', () => replacing(0, basicConstraints({ ca: true }))],
  ['key_usage', () => replacing(1, keyUsage('digitalSignature', 'keyCertSign'))],
  ['extended_key_usage', () => replacing(2, extendedKeyUsage('serverAuth', 'clientAuth'))],
  ['names', () => replacing(3, subjectAltName([dns('shop.corp.example')], { critical: true }))],
  ['names', () => replacing(3, subjectAltName([...fields.names, dns('b.example')], { critical: true }))],
  ['names', () => replacing(3, subjectAltName([dns('shop.corp.example'), dns('10.0.0.1')], { critical: true }))],
  ['authority_key_identifier', () => replacing(4, authorityKeyIdentifier(Buffer.alloc(20)))],
  ['subject_key_identifier', () => replacing(5, subjectKeyIdentifier(Buffer.alloc(20)))],
  ['crl_url', () => replacing(6, crlDistributionPoint(`${url}y`))],
  ['ocsp_url', () => replacing(7, authorityInfoAccess({ caIssuers: url }))],
  ['issuer_url', () => replacing(7, authorityInfoAccess({ ocsp: url, caIssuers: `${url}y` }))],
])('SEC-40: bytes that break the rule %s are named by it', (rule, parts) => {
  expect(lintLeaf(bytes(parts()), fields)).toEqual({ broken: rule });
});

test.each<[string, Partial<LeafFields>]>([
  ['serial', { serial: Buffer.alloc(16, 1) }],
  ['dates', { notBefore: new Date('2026-05-17T12:00:00Z'), notAfter: new Date('2026-05-17T12:00:00Z') }],
  ['subject', { commonName: 'other.corp.example' }],
  ['names', { names: [dns('a.example'), dns('a.example')] }],
  ['plain_http', { urls: { crl: 'https://a/', ocsp: 'https://a/', caIssuers: 'https://a/' } }],
])('fields that break the rule %s are no certificate either', (rule, changed) => {
  const wrong = { ...fields, ...changed };
  expect(lintLeaf(buildLeaf(wrong), wrong)).toEqual({ broken: rule });
});

test('dates outside those of the issuer are refused', () => {
  const short = { ...fields, issuer: { ...fields.issuer, notAfter: new Date('2026-08-15T11:59:58Z') } };
  expect(lintLeaf(buildLeaf(short), short)).toEqual({ broken: 'dates_within_issuer' });
});

test('bytes that are no certificate are refused', () => {
  expect(lintLeaf(bytes().subarray(1), fields)).toEqual({ broken: 'der' });
  expect(lintLeaf(Buffer.alloc(0), fields)).toEqual({ broken: 'der' });
});

test.each<[string, boolean, () => Parts]>([
  ['a leaf', true, () => ({})],
  ['a client', true, () => replacing(2, extendedKeyUsage('serverAuth', 'clientAuth'))],
  ['a CA', false, () => replacing(0, basicConstraints({ ca: true }))],
  ['one that does not say that it is no CA', false, () => replacing(0)],
  ['one who signs CRLs', false, () => replacing(1, keyUsage('digitalSignature', 'cRLSign'))],
  ['one who answers OCSP', false, () => replacing(2, extendedKeyUsage('OCSPSigning'))],
  ['one for any purpose', false, () => replacing(2)],
])('stored bytes of %s: an end entity is %s', (_what, is, parts) => {
  expect(isEndEntity(parseTbsCertificate(bytes(parts())))).toBe(is);
});
