// The externalAccountBinding of newAccount (RFC 8555 section 7.3.4), up to its MAC, which the core verifies.
import type { AccountKey } from '../core/account-key.ts';
import { type BindingProof, type MacAlgorithm, macAlgorithms } from '../core/external-account.ts';
import { malformed, namedKey, readInnerJws } from './inner-jws.ts';
import { jwsPayload } from './jws.ts';

type Outer = { readonly url: string; readonly key: AccountKey };

const WHAT = 'the externalAccountBinding';

/** EAB-2: throws `malformed` for all that does not bind the key of the request, in this request. */
export function readExternalAccount(json: unknown, { url, key }: Outer): BindingProof {
  const jws = readInnerJws(json, WHAT, url);
  const { alg, kid } = jws.header;
  if (!isMacAlgorithm(alg))
    throw malformed(`The "alg" of ${WHAT} must be one of ${Object.keys(macAlgorithms).join(', ')}.`);
  if (typeof kid !== 'string') throw malformed(`The protected header of ${WHAT} has no "kid": the id of an EAB token.`);
  if (!namedKey(jwsPayload(jws), `The payload of ${WHAT}`).thumbprint.equals(key.thumbprint))
    throw malformed(`The payload of ${WHAT} must be the key that the request is signed by.`);
  return {
    kid,
    algorithm: alg,
    signed: `${jws.protected}.${jws.payload}`,
    mac: Buffer.from(jws.signature, 'base64url'),
    jws: JSON.stringify(membersOfJws(json)),
  };
}

const isMacAlgorithm = (alg: string): alg is MacAlgorithm => Object.hasOwn(macAlgorithms, alg);

const jwsMembers = ['protected', 'payload', 'signature'];

/** The members of a JWS as they came and in their order (EAB-4), and none besides (ACC-4). */
const membersOfJws = (json: unknown): object =>
  Object.fromEntries(Object.entries(json ?? {}).filter(([name]) => jwsMembers.includes(name)));
