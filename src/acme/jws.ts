// Flattened JWS as ACME has them (RFC 8555 section 6.2): their shape, their signature, their payload.
import { type KeyObject, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { AcmeError } from '../core/acme-error.ts';
import { readJson } from '../schema/json.ts';
import { fitsKey, signatureAlgorithm } from './algorithms.ts';

export { accountKeyOfJwk } from '../core/account-key.ts';

export type FlattenedJws = {
  /** These three in base64url, as they came. */
  readonly protected: string;
  readonly payload: string;
  readonly signature: string;
  readonly header: ProtectedHeader;
};

/** Nothing but `alg` has been looked at. */
export type ProtectedHeader = { readonly [Name in 'kid' | 'jwk' | 'nonce' | 'url']?: unknown } & {
  readonly alg: string;
};

/**
 * Takes what a JSON text held. Throws `malformed` for every other serialization, unprotected members, extensions
 * (JWS-1 to JWS-3) and padded base64url (HTTP-3); `what` names the JWS in the message: `the request`.
 */
export function readJws(json: unknown, what: string): FlattenedJws {
  const members = membersOf(json, what);
  if (members.has('signatures')) throw malformed(`${what} is in the general serialization; send the flattened one.`);
  if (members.has('header')) throw malformed(`${what} has an unprotected header, which ACME does not allow.`);
  const [encodedHeader, payload, signature] = [
    base64urlOf(members, 'protected', what),
    base64urlOf(members, 'payload', what),
    base64urlOf(members, 'signature', what),
  ];
  const header = membersOf(parsed(encodedHeader, `the protected header of ${what}`), `the protected header of ${what}`);
  for (const name of ['crit', 'b64'])
    if (header.has(name)) throw malformed(`${what} has "${name}" in its protected header, which ACME does not know.`);
  const alg = header.get('alg');
  if (typeof alg !== 'string') throw malformed(`${what} has no "alg" in its protected header.`);
  return { protected: encodedHeader, payload, signature, header: { ...Object.fromEntries(header), alg } };
}

/** Whether the key made the signature, by an algorithm for keys of its type. */
export async function verifyJws(jws: FlattenedJws, key: KeyObject): Promise<boolean> {
  const algorithm = signatureAlgorithm(jws.header.alg);
  if (algorithm === undefined || !fitsKey(algorithm, key)) return false;
  const signature = Buffer.from(jws.signature, 'base64url');
  // JWS-7: no DER, and no number that lost its leading zeros.
  if (algorithm.signatureBytes !== undefined && signature.length !== algorithm.signatureBytes) return false;
  const data = Buffer.from(`${jws.protected}.${jws.payload}`);
  const check = algorithm.isSlow ? verifyInPool : verify;
  return check(algorithm.hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

/** The payload, which must be JSON in which no member stands twice (JWS-15). Throws `malformed`. */
export const jwsPayload = ({ payload }: FlattenedJws): unknown => parsed(payload, 'the payload');

// With a callback the work is done in the thread pool.
const verifyInPool = promisify(verify);

const isBase64url = (text: string): boolean => /^[A-Za-z0-9_-]*$/.test(text) && text.length % 4 !== 1;

function parsed(base64url: string, what: string): unknown {
  const json = readJson(Buffer.from(base64url, 'base64url'));
  if (json.ok) return json.value;
  const { field, message } = json.problem;
  throw malformed(`${what} cannot be read${field === '' ? '' : ` at ${field}`}: ${message}.`);
}

function base64urlOf(members: ReadonlyMap<string, unknown>, name: string, what: string): string {
  const value = members.get(name);
  if (typeof value === 'string' && isBase64url(value)) return value;
  throw malformed(`${what} has no "${name}" that is base64url without padding (RFC 8555 section 6.1).`);
}

/** A map, in which `__proto__` is a name like any other (JWS-16). */
function membersOf(json: unknown, what: string): ReadonlyMap<string, unknown> {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw malformed(`${what} is not a JSON object.`);
  return new Map<string, unknown>(Object.entries(json));
}

/** Made a sentence here. */
const malformed = (detail: string) => new AcmeError('malformed', detail.charAt(0).toUpperCase() + detail.slice(1));
