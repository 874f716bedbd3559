// What we write is what openssl reads, and the other way round: keys, certificates, requests, name constraints.
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { keyTypes, type LeafKeyType, leafKeyTypes } from '../../src/x509/algorithms.ts';
import { assembleCertificate, buildTbsCertificate, isSignedBy, newSerial } from '../../src/x509/certificate.ts';
import { certificatePem, readCertificateChainPem, readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { assembleCrl, buildTbsCrl, crlEntry } from '../../src/x509/crl.ts';
import { findCrlEntry, readCrlPem } from '../../src/x509/crl-reader.ts';
import { buildCsr, csrPem, readCsrPem, verifyCsr } from '../../src/x509/csr.ts';
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoint,
  type Extension,
  extendedKeyUsage,
  keyUsage,
  mustStaple,
  nameConstraints,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import type { SubjectName } from '../../src/x509/general-name.ts';
import { buildName, nameText } from '../../src/x509/name.ts';
import { toPem } from '../../src/x509/pem.ts';
import { generatePrivateKey, type PrivateKey, pkcs8Of, readPrivateKey } from '../../src/x509/private-key.ts';
import { publicKeyPem, readPublicKey } from '../../src/x509/public-key.ts';
import { signerOf } from '../../src/x509/signer.ts';
import { keyIdentifierOf } from '../../src/x509/spki.ts';

const run = promisify(execFile);
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const keys = new Map<LeafKeyType, PrivateKey>();
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-x509-'));
  for (const keyType of leafKeyTypes) keys.set(keyType, await generatePrivateKey(keyType));
});
beforeEach(({ skip }) => {
  if (!hasOpenssl) skip('the command openssl is not installed');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const path = (name: string) => join(folder, name);
const keyOf = (keyType: LeafKeyType): PrivateKey => keys.get(keyType) ?? expect.fail(`no ${keyType} key`);
const privatePem = (keyType: LeafKeyType) => toPem('PRIVATE KEY', pkcs8Of(keyOf(keyType)));

/** Standard output of openssl; its complaints are the failure's message. */
async function openssl(...args: readonly string[]): Promise<string> {
  return (await run('openssl', args, { cwd: folder })).stdout;
}

async function given(name: string, text: string): Promise<string> {
  await writeFile(path(name), text);
  return name;
}

type Authority = { readonly key: PrivateKey; readonly name: Buffer; readonly pem: string };

async function issue(
  subject: Buffer,
  spki: Buffer,
  extensions: readonly Extension[],
  issuer: { key: PrivateKey; name: Buffer },
) {
  const signer = signerOf(issuer.key);
  const tbs = buildTbsCertificate({
    serial: newSerial(),
    issuer: issuer.name,
    subject,
    notBefore: new Date(Date.now() - 300_000),
    notAfter: new Date(Date.now() + 30 * 86_400_000),
    spki,
    extensions: [...extensions, authorityKeyIdentifier(keyIdentifierOf(issuer.key.spki))],
    issuerKeyType: signer.keyType,
  });
  return certificatePem(assembleCertificate(tbs, signer.keyType, await signer.sign(tbs)));
}

async function anAuthority(
  key: PrivateKey,
  CN: string,
  extra: readonly Extension[] = [],
  parent?: Authority,
): Promise<Authority> {
  const name = buildName({ CN, O: 'Käse & Söhne', C: 'DE' });
  const pathLength = parent === undefined ? {} : { pathLength: 0 };
  const extensions = [
    basicConstraints({ ca: true, ...pathLength }),
    keyUsage('keyCertSign', 'cRLSign'),
    subjectKeyIdentifier(keyIdentifierOf(key.spki)),
    ...extra,
  ];
  return { key, name, pem: await issue(name, key.spki, extensions, parent ?? { key, name }) };
}

const aLeaf = (issuer: Authority, key: PrivateKey, names: readonly SubjectName[]): Promise<string> =>
  issue(
    buildName({}),
    key.spki,
    [
      basicConstraints({ ca: false }),
      keyUsage('digitalSignature'),
      extendedKeyUsage('serverAuth'),
      subjectKeyIdentifier(keyIdentifierOf(key.spki)),
      subjectAltName(names, { critical: true }),
      crlDistributionPoint('http://ca.example/crl/1.crl'),
      authorityInfoAccess({ ocsp: 'http://ca.example/ocsp', caIssuers: 'http://ca.example/ca.cer' }),
      mustStaple(),
    ],
    issuer,
  );

const site: readonly SubjectName[] = [
  { type: 'dns', value: 'www.corp.example' },
  { type: 'dns', value: '*.corp.example' },
  { type: 'ip', value: '10.1.2.3' },
  { type: 'ip', value: '2001:db8::1' },
];

test.each(keyTypes)('a chain signed by %s keys passes openssl verify -x509_strict', async (keyType) => {
  const root = await anAuthority(keyOf(keyType), 'Root');
  const middle = await anAuthority(keyOf(keyType === 'ec_256' ? 'ec_384' : 'ec_256'), 'Intermediate', [], root);
  const leaf = await aLeaf(middle, keyOf('ec_256'), site);
  await given(`root-${keyType}.pem`, root.pem);
  await given(`middle-${keyType}.pem`, middle.pem);
  await given(`leaf-${keyType}.pem`, leaf);
  const verdict = await openssl(
    ...['verify', '-x509_strict', '-check_ss_sig', '-purpose', 'sslserver', '-verify_hostname', 'www.corp.example'],
    ...['-CAfile', `root-${keyType}.pem`, '-untrusted', `middle-${keyType}.pem`, `leaf-${keyType}.pem`],
  );
  expect(verdict).toContain(': OK');
});

test.each(leafKeyTypes)('a certificate for a %s key passes openssl verify -x509_strict', async (keyType) => {
  const root = await anAuthority(keyOf('ec_256'), 'Root');
  await given('leaf-root.pem', root.pem);
  await given(`for-${keyType}.pem`, await aLeaf(root, keyOf(keyType), site));
  expect(await openssl('verify', '-x509_strict', '-CAfile', 'leaf-root.pem', `for-${keyType}.pem`)).toContain(': OK');
});

test('openssl shows every extension as it was meant', async () => {
  const constraints = {
    permittedDns: ['corp.example'],
    excludedDns: ['bad.corp.example'],
    permittedIp: ['10.0.0.0/8'],
    excludedIp: ['2001:db8::/32'],
  };
  const root = await anAuthority(keyOf('ec_256'), 'Root', [nameConstraints(constraints)]);
  const rootText = await openssl('x509', '-in', await given('shown-root.pem', root.pem), '-noout', '-text');
  expect(rootText).toContain('DNS:corp.example');
  expect(rootText).toContain('IP:10.0.0.0/255.0.0.0');
  expect(rootText).toContain('CA:TRUE');
  expect(rootText).toContain('Certificate Sign, CRL Sign');
  expect(
    await openssl('x509', '-in', 'shown-root.pem', '-noout', '-subject', '-nameopt', 'RFC2253,utf8,-esc_msb'),
  ).toContain(`subject=${nameText(readCertificatePem(root.pem).subject)}`);
  const leafText = await openssl(
    'x509',
    '-in',
    await given('shown-leaf.pem', await aLeaf(root, keyOf('ec_256'), site)),
    '-noout',
    '-text',
  );
  expect(leafText).toContain(
    'DNS:www.corp.example, DNS:*.corp.example, IP Address:10.1.2.3, IP Address:2001:DB8:0:0:0:0:0:1',
  );
  expect(leafText).toContain('OCSP - URI:http://ca.example/ocsp');
  expect(leafText).toContain('CA Issuers - URI:http://ca.example/ca.cer');
  expect(leafText).toContain('URI:http://ca.example/crl/1.crl');
  expect(leafText).toContain('status_request');
  expect(leafText).toMatch(/Subject Alternative Name: critical/);
});

test('openssl enforces the name constraints as they were written', async () => {
  const constraints = {
    permittedDns: ['corp.example'],
    excludedDns: ['bad.corp.example'],
    permittedIp: ['10.0.0.0/8'],
    excludedIp: [],
  };
  const root = await anAuthority(keyOf('ec_256'), 'Root', [nameConstraints(constraints)]);
  await given('constrained.pem', root.pem);
  const verdict = async (value: string, type: 'dns' | 'ip' = 'dns') => {
    const leaf = await given('constrained-leaf.pem', await aLeaf(root, keyOf('ec_256'), [{ type, value }]));
    return openssl('verify', '-x509_strict', '-CAfile', 'constrained.pem', leaf).then(
      () => 'accepted',
      () => 'refused',
    );
  };
  expect(await verdict('a.corp.example')).toBe('accepted');
  expect(await verdict('a.bad.corp.example')).toBe('refused');
  expect(await verdict('a.example')).toBe('refused');
  expect(await verdict('10.9.9.9', 'ip')).toBe('accepted');
  expect(await verdict('11.9.9.9', 'ip')).toBe('refused');
});

test.each(leafKeyTypes)('openssl reads our %s key and says the same public half', async (keyType) => {
  await given(`key-${keyType}.pem`, privatePem(keyType));
  expect(await openssl('pkey', '-in', `key-${keyType}.pem`, '-check', '-noout')).toContain('valid');
  const pem = await openssl('pkey', '-in', `key-${keyType}.pem`, '-pubout');
  expect(pem).toBe(publicKeyPem(keyOf(keyType).spki));
  expect(readPublicKey(pem).keyType).toBe(keyType);
});

const made: readonly (readonly [name: string, keyType: LeafKeyType, args: readonly string[]])[] = [
  ['PKCS#8 of genpkey', 'ec_256', ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']],
  ['SEC1 with its curve block', 'ec_384', ['ecparam', '-name', 'secp384r1', '-genkey']],
  ['SEC1 alone', 'ec_521', ['ecparam', '-name', 'secp521r1', '-genkey', '-noout']],
  ['PKCS#1', 'rsa_2048', ['genrsa', '-traditional', '2048']],
  ['RSA in PKCS#8', 'rsa_2048', ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048']],
  ['Ed25519', 'ed25519', ['genpkey', '-algorithm', 'ED25519']],
];

test.each(made)('reads a key that openssl made: %s', async (_, keyType, args) => {
  expect((await readPrivateKey(await openssl(...args))).keyType).toBe(keyType);
});

const refusedKeys: readonly (readonly [name: string, code: string, words: string, args: readonly string[]])[] = [
  [
    'encrypted PKCS#8',
    'encrypted_key',
    'Decrypt',
    ['genpkey', '-algorithm', 'ED25519', '-aes256', '-pass', 'pass:secret'],
  ],
  [
    'the encrypted older form',
    'encrypted_key',
    'Decrypt',
    ['genrsa', '-traditional', '-aes128', '-passout', 'pass:secret', '2048'],
  ],
  [
    'explicit parameters',
    'unsupported_key',
    'explicit',
    ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-param_enc', 'explicit'],
  ],
  ['secp256k1', 'unsupported_key', 'secp256k1', ['ecparam', '-name', 'secp256k1', '-genkey', '-noout']],
  ['X25519', 'unsupported_key', 'X25519', ['genpkey', '-algorithm', 'X25519']],
  ['RSA with 1024 bits', 'unsupported_key', '1024 bits', ['genrsa', '1024']],
  ['RSA with e = 3', 'unsupported_key', '65537', ['genrsa', '-3', '2048']],
];

test.each(refusedKeys)('refuses a key that openssl made: %s', async (_, code, words, args) => {
  const error = await readPrivateKey(await openssl(...args)).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'X509Error', code });
  expect(String(error)).toContain(words);
});

test.each(leafKeyTypes)('reads and verifies a CSR that openssl made with a %s key', async (keyType) => {
  await given(`csr-${keyType}.key`, privatePem(keyType));
  const pem = await openssl(
    ...['req', '-new', '-key', `csr-${keyType}.key`, '-subj', '/C=DE/O=Acme/CN=WWW.corp.example'],
    ...['-addext', 'subjectAltName=DNS:api.corp.example,IP:10.0.0.7', '-addext', 'tlsfeature=status_request'],
    ...['-addext', 'basicConstraints=critical,CA:FALSE', '-addext', 'keyUsage=digitalSignature'],
  );
  const csr = readCsrPem(pem);
  await verifyCsr(csr);
  expect(csr).toMatchObject({ keyType, mustStaple: true, requestsCa: false, unknownCriticalExtensions: [] });
  expect(csr.names).toEqual([
    { type: 'dns', value: 'api.corp.example' },
    { type: 'ip', value: '10.0.0.7' },
    { type: 'dns', value: 'www.corp.example' },
  ]);
});

test('reads CSRs of openssl with RSA-PSS and SHA-512, and refuses SHA-1', async () => {
  await given('pss.key', privatePem('rsa_2048'));
  const request = (...args: readonly string[]) =>
    openssl('req', '-new', '-key', 'pss.key', '-subj', '/CN=a.example', ...args);
  const pss = ['-sigopt', 'rsa_padding_mode:pss'];
  await verifyCsr(readCsrPem(await request('-sha256', ...pss, '-sigopt', 'rsa_pss_saltlen:32')));
  await verifyCsr(readCsrPem(await request('-sha384', ...pss)));
  await verifyCsr(readCsrPem(await request('-sha512')));
  const old = await request('-sha1');
  expect(() => readCsrPem(old)).toThrow('SHA-1 with RSA');
});

test.each(keyTypes)('openssl verifies the CSR of a %s CA', async (keyType) => {
  const subject = buildName({ CN: 'Intermediate', O: 'Acme' });
  const der = await buildCsr({ subject, extensions: [basicConstraints({ ca: true })] }, signerOf(keyOf(keyType)));
  await given(`ca-${keyType}.csr`, csrPem(der));
  const { stdout, stderr } = await run('openssl', ['req', '-in', `ca-${keyType}.csr`, '-verify', '-noout', '-text'], {
    cwd: folder,
  });
  expect(stdout + stderr).toContain('self-signature verify OK');
  expect(stdout).toContain('CA:TRUE');
});

test('reads a root and a chain that openssl made', async () => {
  await given('own.key', privatePem('ec_384'));
  const root = await openssl(
    ...[
      'req',
      '-x509',
      '-new',
      '-key',
      'own.key',
      '-sha384',
      '-days',
      '7300',
      '-subj',
      '/DC=example/DC=corp/O=Acme/CN=Own Root',
    ],
    ...['-addext', 'nameConstraints=critical,permitted;DNS:corp.example,excluded;IP:10.0.0.0/255.0.0.0'],
  );
  const certificate = readCertificatePem(root);
  expect(certificate).toMatchObject({ version: 3, keyType: 'ec_384', extensions: { basicConstraints: { ca: true } } });
  expect(certificate.extensions.nameConstraints).toMatchObject({
    permittedDns: ['corp.example'],
    excludedIp: ['10.0.0.0/8'],
  });
  expect(await isSignedBy(certificate, certificate.spki)).toBe(true);
  expect(certificate.notAfter.getUTCFullYear()).toBeGreaterThan(2040);
  await writeFile(path('text.pem'), root);
  const text = await openssl('x509', '-in', 'text.pem', '-text');
  expect(readCertificateChainPem(text + (await readFile(path('text.pem'), 'utf8')))).toHaveLength(2);
});

test('openssl verifies our CRL, refuses what it lists, and we read the CRL of openssl', async () => {
  const root = await anAuthority(keyOf('ec_256'), 'Root');
  const leaf = await aLeaf(root, keyOf('ec_256'), site);
  const signer = signerOf(root.key);
  const tbsOf = (entries: Buffer) =>
    buildTbsCrl({
      issuer: root.name,
      thisUpdate: new Date(Date.now() - 60_000),
      nextUpdate: new Date(Date.now() + 86_400_000),
      entries: [entries],
      number: BigInt(Date.now()),
      issuerKeyIdentifier: keyIdentifierOf(root.key.spki),
      issuerKeyType: signer.keyType,
    });
  const crlPem = async (entries: Buffer) => {
    const tbs = tbsOf(entries);
    return toPem('X509 CRL', assembleCrl(tbs, signer.keyType, await signer.sign(tbs)));
  };
  await given('crl-root.pem', root.pem);
  await given('crl-leaf.pem', leaf);
  await given('empty.crl', await crlPem(Buffer.alloc(0)));
  const entry = crlEntry(readCertificatePem(leaf).serial, new Date(), 'keyCompromise');
  await given('full.crl', await crlPem(entry));
  const verify = (crl: string) =>
    openssl('verify', '-x509_strict', '-crl_check', '-CAfile', 'crl-root.pem', '-CRLfile', crl, 'crl-leaf.pem');
  expect(await verify('empty.crl')).toContain(': OK');
  await expect(verify('full.crl')).rejects.toThrow('certificate revoked');
  expect(await openssl('crl', '-in', 'full.crl', '-noout', '-text')).toContain('Key Compromise');

  await given('ca.key', privatePem('ec_256'));
  await given('index.txt', 'R\t300101000000Z\t261101000000Z,superseded\t0080FF\tunknown\t/CN=a\n');
  await given('crlnumber', '1000\n');
  await given(
    'ca.cnf',
    '[ca]\ndefault_ca=c\n[c]\ndatabase=index.txt\ncrlnumber=crlnumber\ndefault_md=sha256\ncrl_extensions=e\n[e]\nauthorityKeyIdentifier=keyid\n',
  );
  const made = await openssl(
    'ca',
    '-config',
    'ca.cnf',
    '-gencrl',
    '-keyfile',
    'ca.key',
    '-cert',
    'crl-root.pem',
    '-crldays',
    '7',
  );
  const crl = await readCrlPem(made);
  expect(await isSignedBy(crl, root.key.spki)).toBe(true);
  expect(crl).toMatchObject({ entryCount: 1, extensions: { crlNumber: 0x1000n } });
  expect(findCrlEntry(crl, Buffer.from('80ff', 'hex'))).toMatchObject({
    reason: 'superseded',
    revokedAt: new Date('2026-11-01T00:00:00Z'),
  });
});
