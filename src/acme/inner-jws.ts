// A JWS inside the payload of a request (RFC 8555 sections 7.3.4 and 7.3.5): it repeats the URL, and has no nonce.
import type { AccountKey } from '../core/account-key.ts';
import { AcmeError } from '../core/acme-error.ts';
import { accountKeyOfJwk, type FlattenedJws, readJws } from './jws.ts';

/** Throws `malformed`; `what` names it in the message. */
export function readInnerJws(json: unknown, what: string, requestUrl: string): FlattenedJws {
  const jws = readJws(json, what);
  if (jws.header.nonce !== undefined) throw malformed(`The protected header of ${what} must not have a "nonce".`);
  if (jws.header.url !== requestUrl)
    throw malformed(`The protected header of ${what} must have the same "url" as the request, ${requestUrl}.`);
  return jws;
}

/** A key that must be one that is known already, so that its strength does not matter. Throws `malformed`. */
export function namedKey(jwk: unknown, what: string): AccountKey {
  try {
    return accountKeyOfJwk(jwk);
  } catch (error) {
    if (!(error instanceof AcmeError)) throw error;
    throw malformed(`${what} is not the JWK of an account key: ${error.message}`);
  }
}

export const malformed = (detail: string): AcmeError => new AcmeError('malformed', detail);
