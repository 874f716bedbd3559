// External account bindings (RFC 8555 section 7.3.4): the proof that a client holds the MAC key of an EAB token.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { findBindingByKid } from '../store/external-bindings.ts';
import { AcmeError } from './acme-error.ts';
import type { Ca } from './ca.ts';
import { tokenUsed } from './external-bindings.ts';
import { newUuid, parseId } from './ids.ts';
import { newMacKey } from './mac-key.ts';
import type { SeenToken } from './register-account.ts';
import { openSecret, sealSecret } from './secret-box.ts';

/** By the `alg` of a JWS; no others (EAB-2). */
export const macAlgorithms = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const;
export type MacAlgorithm = keyof typeof macAlgorithms;

/** A JWS whose form and contents have been checked, and whose MAC has not. */
export type BindingProof = {
  readonly kid: string;
  readonly algorithm: MacAlgorithm;
  /** What the MAC is over. */
  readonly signed: string;
  readonly mac: Buffer;
  /** The JWS itself, which the account shows for ever (EAB-4). */
  readonly jws: string;
};

/**
 * The unused token that the proof is of. Whatever is wrong with it, the same is said after the same work
 * (EAB-3); that a token is spent is for who has proved to hold its key. Throws `unauthorized` (AcmeError), `token_used`
 * and `unavailable`.
 */
export async function verifiedBinding(ca: Ca, directoryId: string, proof: BindingProof): Promise<SeenToken> {
  const id = parseId('eab', proof.kid);
  const kid = id === undefined ? { keyId: proof.kid } : { id };
  const token = await findBindingByKid(ca.database.db, directoryId, kid);
  const key = token === undefined ? await decoyKey(ca) : await openSecret(ca, token.id, token.mac_sealed);
  const isProved = isMac(proof, key);
  if (token === undefined || !isProved) throw bindingRefused();
  if (token.acme_key_id !== null) throw tokenUsed(token.acme_key_id);
  return token;
}

export const bindingRefused = (): AcmeError =>
  new AcmeError(
    'unauthorized',
    'The external account binding is not accepted: its kid is not that of an EAB token of this directory, or its MAC is wrong. Check both values for missing or additional characters.',
  );

/** To seal costs what opening costs. */
async function decoyKey(ca: Ca): Promise<Buffer> {
  const key = newMacKey();
  await sealSecret(ca, newUuid(ca.clock.now()), key);
  return key;
}

function isMac({ algorithm, signed, mac }: BindingProof, key: Buffer): boolean {
  const expected = createHmac(macAlgorithms[algorithm], key).update(signed).digest();
  // Of another length there is nothing to compare; the algorithm is no secret.
  return timingSafeEqual(expected, mac.length === expected.length ? mac : randomBytes(expected.length));
}
