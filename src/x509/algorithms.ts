// Everything that is known about one key type, one row each.
import { encodeDer, nullValue, oid, sequence } from './der-writer.ts';
import { oids } from './oids.ts';
import { encodeSignatureAlgorithm, type HashName } from './signature-algorithm.ts';

/** Key types of CA certificates. */
export const keyTypes = ['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096'] as const;
export type KeyType = (typeof keyTypes)[number];

/** Key types of leaf certificates and of ACME accounts. */
export const leafKeyTypes = [...keyTypes, 'ed25519'] as const;
export type LeafKeyType = (typeof leafKeyTypes)[number];

export type KeyAlgorithm = {
  readonly family: 'ec' | 'rsa' | 'ed25519';
  /** Size of the field, of the modulus, of the key. */
  readonly bits: number;
  /** Name of an EC curve in node:crypto, and its object identifier. */
  readonly curve?: { readonly name: string; readonly oid: string };
  /** AlgorithmIdentifier in the SubjectPublicKeyInfo, as the only accepted bytes. */
  readonly spkiAlgorithm: Buffer;
  /** What keys of this type sign certificates, requests and lists with. */
  readonly signature: { readonly algorithm: Buffer; readonly hash: HashName | undefined };
};

export const keyAlgorithms: Readonly<Record<LeafKeyType, KeyAlgorithm>> = {
  ec_256: ec(256, { name: 'prime256v1', oid: oids.p256 }, 'sha256', 'ecdsaWithSHA256'),
  ec_384: ec(384, { name: 'secp384r1', oid: oids.p384 }, 'sha384', 'ecdsaWithSHA384'),
  ec_521: ec(521, { name: 'secp521r1', oid: oids.p521 }, 'sha512', 'ecdsaWithSHA512'),
  rsa_2048: rsa(2048),
  rsa_3072: rsa(3072),
  rsa_4096: rsa(4096),
  ed25519: {
    family: 'ed25519',
    bits: 256,
    spkiAlgorithm: encodeDer(sequence(oid(oids.ed25519))),
    signature: { algorithm: encodeSignatureAlgorithm('Ed25519'), hash: undefined },
  },
};

export const isCaKeyType = (keyType: LeafKeyType): keyType is KeyType => keyType !== 'ed25519';

function ec(bits: number, curve: NonNullable<KeyAlgorithm['curve']>, hash: HashName, signature: string): KeyAlgorithm {
  return {
    family: 'ec',
    bits,
    curve,
    spkiAlgorithm: encodeDer(sequence(oid(oids.ecPublicKey), oid(curve.oid))),
    signature: { algorithm: encodeSignatureAlgorithm(signature), hash },
  };
}

function rsa(bits: number): KeyAlgorithm {
  return {
    family: 'rsa',
    bits,
    spkiAlgorithm: encodeDer(sequence(oid(oids.rsaEncryption), nullValue())),
    signature: { algorithm: encodeSignatureAlgorithm('sha256WithRSA'), hash: 'sha256' },
  };
}
