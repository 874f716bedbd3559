// What a signed request has to show before a handler sees it, in the order in which it is refused (RFC 8555 section 6):
// first what the request itself says, then, at once, nonce and directory and account, then the signature, then the payload.
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { OfferedKey } from '../core/account-key.ts';
import { AcmeError } from '../core/acme-error.ts';
import {
  type AcmeAccount,
  type AcmeContext,
  beginSignedRequest,
  noteAccountUse,
  readNonce,
  requireAccount,
} from '../core/acme-requests.ts';
import type { Ca } from '../core/ca.ts';
import { detailOf } from '../core/field-problems.ts';
import type { Nonces } from '../core/nonces.ts';
import { versionCache } from '../core/policy-cache.ts';
import { type AccountUrl, readAccountUrl, requestUrls } from '../core/urls.ts';
import type { HttpHead, HttpRequest } from '../http/route.ts';
import { readJson } from '../schema/json.ts';
import { checked } from '../schema/validator.ts';
import { fitsKey, signatureAlgorithm, signatureAlgorithmNames } from './algorithms.ts';
import { accountKeyOfJwk, type FlattenedJws, jwsPayload, type ProtectedHeader, readJws, verifyJws } from './jws.ts';
import type { AcmeRequest, ByAccount, SignedRoute, Signers } from './route.ts';

/** HTTP-4: with parameters, and in any case (RFC 9110 section 8.3.1). */
export function requireJoseJson({ headers }: HttpHead): void {
  const mediaType = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (mediaType === 'application/jose+json') return;
  throw new AcmeError('malformed', 'A POST must have Content-Type: application/jose+json (RFC 8555 section 6.2).', {
    status: 415,
  });
}

/** What the checks of the protected header look at. */
type Shown = {
  readonly header: ProtectedHeader;
  readonly signer: keyof Signers;
  /** All that the request may call its own URL. */
  readonly urls: readonly string[];
};
type HeaderCheck = (shown: Shown) => AcmeError | undefined;

const headerChecks: readonly HeaderCheck[] = [
  algorithmIsAccepted, // JWS-4, JWS-5
  oneKeyIsNamed, // JWS-8
  keyIsNamedAsTheRowWants, // JWS-9
  urlIsThatOfTheRequest, // JWS-12, JWS-13
  nonceIsThere, // NON-7
];

type KeyCheck = (header: ProtectedHeader, key: KeyObject) => AcmeError | undefined;

const keyChecks: readonly KeyCheck[] = [
  algorithmFitsKey, // JWS-6
  jwkSaysTheSameAlgorithm, // JWS-19
];

/** How the rows of each signer name the key. */
const keyMembers: Readonly<Record<keyof Signers, readonly ('jwk' | 'kid')[]>> = {
  account: ['kid'],
  newKey: ['jwk'],
  accountOrCertificateKey: ['kid', 'jwk'],
};

export type CheckedRequest = Pick<AcmeContext, 'directory'> & {
  readonly url: string;
  readonly payload: unknown;
  /** What the row reads ahead. */
  readonly ahead: Promise<unknown> | undefined;
  /** `account`, `key` or `signer`, as the row's handler wants it. */
  readonly signed: Partial<Signers['account'] & Signers['newKey'] & Signers['accountOrCertificateKey']>;
};

type CheckOptions = { readonly ca: Ca; readonly nonces: Nonces; readonly slug: string };

/** Throws AcmeError. A nonce in a request whose header passes is spent, whatever is wrong with the rest (NON-6). */
export async function checkRequest(
  { ca, nonces, slug }: CheckOptions,
  row: SignedRoute,
  request: HttpRequest,
): Promise<CheckedRequest> {
  const jws = readJws(jsonOf(request.body), 'the request');
  const { header } = jws;
  refuseBy(headerChecks, { header, signer: row.signer, urls: requestUrls(ca.urls, slug, request.url) });
  const url = String(header.url);
  const kid = typeof header.kid === 'string' ? readAccountUrl(ca.urls, header.kid) : undefined;
  const asked = { slug, clientAddress: request.clientAddress, ...(kid && { accountId: kid.id }) };
  const nonce = await readNonce(ca, nonces, String(header.nonce), asked);
  const offered = header.jwk === undefined ? undefined : offeredKey(header.jwk);
  const ahead = readAhead(row, { ca, params: request.params }, kid, offered);
  // Whoever is refused does not wait for it; the handler does, and hears of its failure.
  ahead?.catch(() => undefined);
  const context = await beginSignedRequest(ca, nonces, nonce, asked);
  if (offered !== undefined && 'refusal' in offered) throw offered.refusal;
  const signer: ByAccount | Offered = offered ?? { account: requireAccount(context, kid), kid: String(header.kid) };
  await verified(jws, 'account' in signer ? importedKey(signer.account) : signer.key.publicKey);
  if ('account' in signer) noteAccountUse(ca, signer.account);
  const signed = row.signer === 'accountOrCertificateKey' ? { signer } : signer;
  return { directory: context.directory, url, payload: payloadOf(row, jws), ahead, signed };
}

type Offered = { readonly key: OfferedKey };
type Refused = { readonly refusal: AcmeError };

/** Whoever offers no key that is accepted hears of it after what comes before. */
function offeredKey(jwk: unknown): Offered | Refused {
  try {
    return { key: accountKeyOfJwk(jwk) };
  } catch (error) {
    if (error instanceof AcmeError) return { refusal: error };
    throw error;
  }
}

function readAhead(
  row: SignedRoute,
  asking: Pick<AcmeRequest, 'ca' | 'params'>,
  kid: AccountUrl | undefined,
  offered: Offered | Refused | undefined,
): Promise<unknown> | undefined {
  if (offered !== undefined) return 'key' in offered ? row.ahead?.({ ...asking, key: offered.key }) : undefined;
  return kid && row.ahead?.({ ...asking, accountId: kid.id });
}

async function verified(jws: FlattenedJws, key: KeyObject): Promise<void> {
  for (const check of keyChecks) throwIf(check(jws.header, key));
  if (await verifyJws(jws, key)) return;
  throw new AcmeError('malformed', 'The signature of the request is not one of the key that it names.');
}

function payloadOf({ json, orEmpty = false }: SignedRoute, jws: FlattenedJws): unknown {
  const isEmpty = jws.payload === '';
  if (json === undefined && !isEmpty)
    throw new AcmeError('malformed', 'The payload must be the empty string here: this is read by POST-as-GET.');
  if (json === undefined || (isEmpty && orEmpty)) return undefined;
  if (isEmpty) throw new AcmeError('malformed', 'The payload is empty; this takes a JSON object.');
  const payload = checked(json, jwsPayload(jws));
  if (payload.ok) return payload.value;
  throw new AcmeError('malformed', `The payload is not acceptable. ${detailOf(payload.problems)}`);
}

function jsonOf(body: Buffer): unknown {
  const json = readJson(body);
  if (json.ok) return json.value;
  const { field, message } = json.problem;
  throw new AcmeError('malformed', field === '' ? `${message}.` : `The body cannot be read at ${field}: ${message}.`);
}

function algorithmIsAccepted({ header }: Shown): AcmeError | undefined {
  if (signatureAlgorithm(header.alg) !== undefined) return undefined;
  const names = signatureAlgorithmNames.join(', ');
  return new AcmeError(
    'badSignatureAlgorithm',
    `The request is signed by another "alg" than those accepted: ${names}.`,
    {
      members: { algorithms: signatureAlgorithmNames },
    },
  );
}

function oneKeyIsNamed({ header: { jwk, kid } }: Shown): AcmeError | undefined {
  if ((jwk === undefined) !== (kid === undefined)) return undefined;
  return malformed(
    `The protected header must have one of "jwk" and "kid", and it has ${jwk === undefined ? 'none' : 'both'}.`,
  );
}

function keyIsNamedAsTheRowWants({ header, signer }: Shown): AcmeError | undefined {
  const wanted = keyMembers[signer];
  if (wanted.some((name) => header[name] !== undefined)) return undefined;
  return malformed(`This request must name its key by "${wanted.join('" or "')}".`);
}

function urlIsThatOfTheRequest({ header: { url }, urls }: Shown): AcmeError | undefined {
  if (typeof url !== 'string') return malformed('The protected header has no "url".');
  if (urls.includes(url)) return undefined;
  return new AcmeError('unauthorized', `The "url" in the protected header is not that of this request, ${urls[0]}.`);
}

function nonceIsThere({ header: { nonce } }: Shown): AcmeError | undefined {
  if (typeof nonce === 'string') return undefined;
  if (nonce !== undefined) return malformed('The "nonce" in the protected header is no text.');
  return new AcmeError('badNonce', 'JWS has an invalid anti-replay nonce: there is none in its protected header.');
}

function algorithmFitsKey({ alg }: ProtectedHeader, key: KeyObject): AcmeError | undefined {
  const algorithm = signatureAlgorithm(alg);
  if (algorithm !== undefined && fitsKey(algorithm, key)) return undefined;
  return malformed(`${alg} is not an algorithm for keys of this type.`);
}

function jwkSaysTheSameAlgorithm({ alg, jwk }: ProtectedHeader): AcmeError | undefined {
  if (typeof jwk !== 'object' || jwk === null || !('alg' in jwk) || jwk.alg === alg) return undefined;
  return malformed('The key in "jwk" is for another "alg" than that of the protected header.');
}

const ACCOUNT_KEYS = 10_000;

/** Importing a key costs as much as half of a verification. */
const importedKey = versionCache(ACCOUNT_KEYS, ({ spki }: AcmeAccount) =>
  createPublicKey({ key: spki, format: 'der', type: 'spki' }),
);

const refuseBy = (checks: readonly HeaderCheck[], shown: Shown): void => {
  for (const check of checks) throwIf(check(shown));
};

function throwIf(error: AcmeError | undefined): void {
  if (error !== undefined) throw error;
}

const malformed = (detail: string) => new AcmeError('malformed', detail);
