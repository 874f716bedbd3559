// Keys, requests and certificates for tests, hostile ones too: every part can be replaced by raw DER.
import { sign } from 'node:crypto';
import { keyAlgorithms, type LeafKeyType } from '../../../src/x509/algorithms.ts';
import { assembleCertificate, buildTbsCertificate } from '../../../src/x509/certificate.ts';
import {
  bitString,
  type Encodable,
  encodeDer,
  implicitSequence,
  integer,
  nullValue,
  oid,
  raw,
  sequence,
  setOfOne,
} from '../../../src/x509/der-writer.ts';
import { basicConstraints, type Extension, encodeExtensions, subjectAltName } from '../../../src/x509/extensions.ts';
import type { SubjectName } from '../../../src/x509/general-name.ts';
import { buildName, type NameFields } from '../../../src/x509/name.ts';
import { oids } from '../../../src/x509/oids.ts';
import { generatePrivateKey, type PrivateKey } from '../../../src/x509/private-key.ts';
import { signerOf } from '../../../src/x509/signer.ts';

const keys = new Map<LeafKeyType, Promise<PrivateKey>>();

/** One key per type and test file. */
export function aKey(keyType: LeafKeyType = 'ec_256'): Promise<PrivateKey> {
  const key = keys.get(keyType) ?? generatePrivateKey(keyType);
  keys.set(keyType, key);
  return key;
}

export const dns = (value: string): SubjectName => ({ type: 'dns', value });
export const ip = (value: string): SubjectName => ({ type: 'ip', value });
export const san = (...names: readonly SubjectName[]): Extension => subjectAltName(names, { critical: false });

export const extensionRequest = (...extensions: readonly Extension[]): Encodable =>
  sequence(oid(oids.extensionRequest), setOfOne(encodeExtensions(extensions)));

export type CsrParts = {
  readonly version?: Encodable;
  readonly subject?: NameFields | Buffer;
  readonly spki?: Buffer;
  readonly extensions?: readonly Extension[];
  readonly attributes?: readonly Encodable[];
  readonly algorithm?: Buffer;
};

/** A request with a good signature over whatever it holds. */
export async function aCsr(parts: CsrParts = {}, key?: PrivateKey): Promise<Buffer> {
  const signer = key ?? (await aKey());
  const { algorithm, hash } = keyAlgorithms[signer.keyType].signature;
  const subject = Buffer.isBuffer(parts.subject) ? parts.subject : buildName(parts.subject ?? {});
  const tbs = encodeDer(
    sequence(
      parts.version ?? integer(0),
      raw(subject),
      raw(parts.spki ?? signer.spki),
      implicitSequence(
        0,
        ...(parts.attributes ?? [extensionRequest(...(parts.extensions ?? [san(dns('a.example'))]))]),
      ),
    ),
  );
  const signature = sign(hash ?? null, tbs, signer.key);
  return encodeDer(sequence(raw(tbs), raw(parts.algorithm ?? algorithm), bitString(signature)));
}

/** A self-signed certificate. */
export async function aCertificate(
  parts: { readonly serial?: Buffer; readonly extensions?: readonly Extension[]; readonly subject?: NameFields } = {},
  key?: PrivateKey,
): Promise<Buffer> {
  const signer = signerOf(key ?? (await aKey()));
  const name = buildName(parts.subject ?? { CN: 'Test Root', O: 'Acme' });
  const tbs = buildTbsCertificate({
    serial: parts.serial ?? Buffer.of(0x7f, 0x01),
    issuer: name,
    subject: name,
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2045-12-31T23:59:59Z'),
    spki: signer.spki,
    extensions: parts.extensions ?? [basicConstraints({ ca: true })],
    issuerKeyType: signer.keyType,
  });
  return assembleCertificate(tbs, signer.keyType, await signer.sign(tbs));
}

export const rsaSpki = (modulus: bigint, exponent = 65_537n): Buffer =>
  encodeDer(
    sequence(
      sequence(oid(oids.rsaEncryption), nullValue()),
      bitString(encodeDer(sequence(integer(modulus), integer(exponent)))),
    ),
  );

/** The X509Error code that a function refuses with; 'accepted' when it does not. */
export async function refusalOf(action: () => unknown): Promise<string> {
  try {
    await action();
    return 'accepted';
  } catch (error) {
    if (error instanceof Error && error.name === 'X509Error' && 'code' in error) return String(error.code);
    throw error;
  }
}
