// Thousands of damaged inputs, the same on every run: each is refused with an X509Error or is what it was.
import { expect, test } from 'vitest';
import type { LeafKeyType } from '../../../src/x509/algorithms.ts';
import { isSignedBy, parseCertificate } from '../../../src/x509/certificate.ts';
import { readCertificatePem } from '../../../src/x509/certificate-pem.ts';
import { parseCsr, verifyCsr } from '../../../src/x509/csr.ts';
import { parseDer } from '../../../src/x509/der.ts';
import { encodeDer } from '../../../src/x509/der-writer.ts';
import { parseExtensions } from '../../../src/x509/extension-reader.ts';
import {
  authorityInfoAccess,
  authorityKeyIdentifier,
  basicConstraints,
  crlDistributionPoint,
  encodeExtensions,
  extendedKeyUsage,
  keyUsage,
  mustStaple,
  nameConstraints,
  subjectKeyIdentifier,
} from '../../../src/x509/extensions.ts';
import { checkPublicKey } from '../../../src/x509/key-policy.ts';
import { toPem } from '../../../src/x509/pem.ts';
import { pkcs8Of, readPkcs8, readPrivateKey } from '../../../src/x509/private-key.ts';
import { X509Error } from '../../../src/x509/x509-error.ts';
import { aCertificate, aCsr, aKey, dns, ip, san } from './builders.ts';
import { mutantOf, octetMutantOf, type Random, seededRandom } from './mutants.ts';

const extensions = [
  basicConstraints({ ca: true, pathLength: 1 }),
  keyUsage('keyCertSign', 'cRLSign'),
  extendedKeyUsage('serverAuth'),
  subjectKeyIdentifier(Buffer.alloc(20, 1)),
  authorityKeyIdentifier(Buffer.alloc(20, 2)),
  san(dns('a.example'), ip('10.0.0.1'), ip('2001:db8::1')),
  nameConstraints({ permittedDns: ['corp.example'], excludedDns: [], permittedIp: ['10.0.0.0/8'], excludedIp: [] }),
  crlDistributionPoint('http://ca.example/crl'),
  authorityInfoAccess({ ocsp: 'http://ca.example/ocsp', caIssuers: 'http://ca.example/ca' }),
  mustStaple(),
];

/** Undefined for a refusal; anything thrown but an X509Error fails the test and shows the mutant. */
async function outcome<T>(mutant: Buffer | string, action: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof X509Error) return undefined;
    throw new Error(`Crashed on ${Buffer.isBuffer(mutant) ? mutant.toString('hex') : mutant}`, { cause: error });
  }
}

async function eachMutant(
  seed: number,
  count: number,
  original: Buffer,
  check: (mutant: Buffer) => Promise<void>,
  mutate: (octets: Buffer, random: Random) => Buffer = mutantOf,
): Promise<void> {
  const random = seededRandom(seed);
  for (let turn = 0; turn < count; turn++) {
    let mutant = mutate(original, random);
    // Some carry several wounds.
    while (random(4) === 0) mutant = octetMutantOf(mutant, random);
    if (!mutant.equals(original)) await check(mutant);
  }
}

test.each([
  [11, 'ec_256', 1_000],
  [12, 'ec_384', 300],
  [13, 'rsa_2048', 400],
  [14, 'ed25519', 400],
] as const)('no mutant %i of a %s request is accepted', async (seed, keyType: LeafKeyType, count) => {
  const der = await aCsr({ subject: { CN: 'a.example', O: 'Acme', C: 'DE' }, extensions }, await aKey(keyType));
  await eachMutant(seed, count, der, async (mutant) => {
    const accepted = await outcome(mutant, async () => {
      const csr = parseCsr(mutant);
      await verifyCsr(csr);
      return csr;
    });
    expect(accepted, mutant.toString('hex')).toBeUndefined();
  });
});

test.each([
  [21, 'ec_256', 1_000],
  [22, 'rsa_2048', 400],
] as const)('no mutant %i of a %s certificate keeps its signature', async (seed, keyType: LeafKeyType, count) => {
  const key = await aKey(keyType);
  const der = await aCertificate({ extensions }, key);
  await eachMutant(seed, count, der, async (mutant) => {
    const read = await outcome(mutant, () => parseCertificate(mutant));
    if (read === undefined) return;
    // With its own key, damaged or not, and with the right one.
    for (const spki of [read.spki, key.spki]) {
      const isAccepted = await outcome(mutant, () => isSignedBy(read, spki));
      expect(isAccepted ?? false, mutant.toString('hex')).toBe(false);
    }
  });
});

test('SEC-11: mutants of extensions alone, where no signature protects the readers', async () => {
  const der = encodeDer(encodeExtensions(extensions));
  await eachMutant(31, 2_000, der, async (mutant) => {
    const found = await outcome(mutant, () => parseExtensions(parseDer(mutant, 'it'), 'the certificate'));
    expect(new Set(found?.all.map(({ oid }) => oid)).size).toBe(found?.all.length ?? 0);
  });
});

test.each([
  [41, 'ec_256', 600],
  [42, 'ec_521', 150],
  [43, 'rsa_2048', 400],
  [44, 'ed25519', 400],
] as const)(
  'mutants %i of a %s private key are refused or are the same key',
  async (seed, keyType: LeafKeyType, count) => {
    const key = await aKey(keyType);
    const publicHalf = key.spki.toString('hex');
    await eachMutant(seed, count, pkcs8Of(key), async (mutant) => {
      const read = await outcome(mutant, () => readPkcs8(mutant));
      // An Ed25519 seed stands alone: another seed is another good key.
      if (read !== undefined && keyType !== 'ed25519') expect(read.spki.toString('hex')).toBe(publicHalf);
    });
  },
);

test('mutants of public keys are refused or are keys of an accepted type', async () => {
  for (const [seed, keyType] of [
    [51, 'ec_256'],
    [52, 'rsa_2048'],
    [53, 'ed25519'],
  ] as const) {
    const { spki } = await aKey(keyType);
    await eachMutant(seed, 500, spki, async (mutant) => {
      const checked = await outcome(mutant, () => checkPublicKey(mutant, 'the key'));
      if (checked !== undefined) expect(checked.keyType).toBe(keyType);
    });
  }
});

test('mutants of PEM text are refused or are what they were', async () => {
  const der = await aCertificate({ extensions });
  const check = async (mutant: Buffer) => {
    const text = mutant.toString('latin1');
    const certificate = await outcome(text, () => readCertificatePem(text));
    if (certificate?.der.equals(der) === false) expect(await isSignedBy(certificate, (await aKey()).spki)).toBe(false);
    await outcome(text, () => readPrivateKey(text));
  };
  await eachMutant(61, 1_000, Buffer.from(toPem('CERTIFICATE', der)), check, octetMutantOf);
});
