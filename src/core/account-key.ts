// Public keys of accounts: how they are read, and that none of them was anything else before.
import type { KeyObject } from 'node:crypto';
import { DatabaseError } from '../store/database-error.ts';
import { findKeyUse, isCertificateKey } from '../store/used-keys.ts';
import { jwkOf, keyOfJwk, type PublicJwk, thumbprintOf } from '../x509/jwk.ts';
import { readPublicKey } from '../x509/public-key.ts';
import { X509Error } from '../x509/x509-error.ts';
import { AcmeError } from './acme-error.ts';
import type { Ca } from './ca.ts';
import { CaError, type FieldProblem } from './errors.ts';
import { invalid } from './field-problems.ts';
import { formatId } from './ids.ts';

export type AccountKey = {
  /** DER SubjectPublicKeyInfo. */
  readonly spki: Buffer;
  readonly jwk: PublicJwk;
  /** RFC 7638. */
  readonly thumbprint: Buffer;
};

/** Between being looked up and being claimed, the key has become that of another account. */
export class KeyTaken extends Error {}

const WHAT = 'the public key';

/** A key of an accepted type and strength in PEM. Throws `invalid` for the field public_key. */
export function readAccountKey(pem: string): AccountKey {
  try {
    return accountKeyOf(readPublicKey(pem).spki);
  } catch (error) {
    if (!(error instanceof X509Error)) throw error;
    throw invalid([{ field: 'public_key', code: error.code, message: error.message }]);
  }
}

/** A key that came in a JWS, and may have signed it. */
export type OfferedKey = AccountKey & { readonly publicKey: KeyObject };

/** The key in a JWS (RFC 8555 section 6.2). Throws `badPublicKey` for all that is no key of an accepted type and strength. */
export function accountKeyOfJwk(given: unknown): OfferedKey {
  try {
    const { spki, jwk, key } = keyOfJwk(given, 'the key in "jwk"');
    return { spki, jwk, thumbprint: thumbprintOf(jwk), publicKey: key };
  } catch (error) {
    if (!(error instanceof X509Error)) throw error;
    throw new AcmeError('badPublicKey', error.message, { cause: error });
  }
}

/** What readAccountKey would refuse. */
export function accountKeyProblems(pem: string): readonly FieldProblem[] {
  try {
    readAccountKey(pem);
    return [];
  } catch (error) {
    if (error instanceof CaError) return error.problems;
    throw error;
  }
}

/** The same of a key that has been checked already. */
function accountKeyOf(spki: Buffer): AccountKey {
  const jwk = jwkOf(spki, WHAT);
  return { spki, jwk, thumbprint: thumbprintOf(jwk) };
}

/**
 * Runs what gives a key to an account, and says of a key that is not new what it was before: throws `key_reused` for the
 * key of an account or a certificate (KEY-7), `key_invalidated` for a withdrawn or compromised one. Of several at once
 * the primary key of used_keys lets one through.
 */
export async function claimingKey<Result>(ca: Ca, thumbprint: Buffer, work: () => Promise<Result>): Promise<Result> {
  await requireNewKey(ca, thumbprint);
  try {
    return await work();
  } catch (error) {
    if (isTakenBy(error, ['used_keys_pkey'])) await requireNewKey(ca, thumbprint);
    throw error;
  }
}

/** Whether a key could not be claimed, or given to an account, as one of these constraints says. */
export const isTakenBy = (error: unknown, constraints: readonly string[]): boolean =>
  error instanceof KeyTaken || (error instanceof DatabaseError && constraints.includes(error.constraint ?? ''));

async function requireNewKey({ database: { db } }: Ca, thumbprint: Buffer): Promise<void> {
  const use = await findKeyUse(db, thumbprint);
  if (use !== undefined) throw usedKey(use.why, use.acme_key_id);
  if (await isCertificateKey(db, thumbprint)) throw refused('key_reused', 'is that of an issued certificate');
}

function usedKey(why: 'account' | 'invalidated' | 'compromised', acmeKeyId: string | null): CaError {
  const owner = acmeKeyId === null ? 'a certificate' : `account key ${formatId('acmk', acmeKeyId)}`;
  switch (why) {
    case 'account':
      return refused('key_reused', `is that of ${owner}`);
    case 'invalidated':
      return refused('key_invalidated', `was that of ${owner} and has been withdrawn`);
    case 'compromised':
      return refused('key_invalidated', 'is blocked, because its private key is known to others');
    default:
      return why satisfies never;
  }
}

const refused = (kind: 'key_reused' | 'key_invalidated', what: string): CaError =>
  new CaError(kind, `The public key ${what}; no key is used twice, so make a new one.`, { field: 'public_key' });
