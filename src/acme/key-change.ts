// keyChange (RFC 8555 section 7.3.5): a request of the account with its old key, around one that the new key has signed.
import type { AccountKey } from '../core/account-key.ts';
import type { AcmeAccount } from '../core/acme-requests.ts';
import { detailOf } from '../core/field-problems.ts';
import { changeAccountKey } from '../core/key-change.ts';
import { acmePaths, readAccountUrl } from '../core/urls.ts';
import { Type } from '../schema/define.ts';
import { checked } from '../schema/validator.ts';
import { shownAccount } from './accounts.ts';
import { malformed, namedKey, readInnerJws } from './inner-jws.ts';
import { accountKeyOfJwk, type FlattenedJws, jwsPayload, verifyJws } from './jws.ts';
import { type AcmeRequest, signedRoute } from './route.ts';

const WHAT = 'the inner JWS';

const KeyChange = Type.Object({ account: Type.String(), oldKey: Type.Unknown() });

export const keyChangeRoute = signedRoute({
  path: acmePaths.keyChange,
  signer: 'account',
  json: Type.Unknown(),
  handle: async (request) => {
    const { ca, directory, account, payload, url, requestId } = request;
    const inner = readInnerJws(payload, WHAT, url);
    const key = await signingKey(inner);
    const { thumbprint: oldThumbprint } = oldKey(request, inner);
    await changeAccountKey(ca, { directory, account, key, oldThumbprint, requestId });
    return shownAccount(request);
  },
});

/** KEY-2. Throws `malformed`, and `badPublicKey` for a weak one (KEY-5). */
async function signingKey(inner: FlattenedJws): Promise<AccountKey> {
  const { jwk, kid } = inner.header;
  if (kid !== undefined || jwk === undefined)
    throw malformed(`The protected header of ${WHAT} must have the new key in "jwk", and no "kid".`);
  const key = accountKeyOfJwk(jwk);
  if (await verifyJws(inner, key.publicKey)) return key;
  throw malformed(`${WHAT} is not signed by the key in its "jwk".`);
}

/** KEY-3. Throws `malformed`. */
function oldKey({ ca, directory, account }: AcmeRequest & { readonly account: AcmeAccount }, inner: FlattenedJws) {
  const change = checked(KeyChange, jwsPayload(inner));
  if (!change.ok) throw malformed(`The payload of ${WHAT} is not acceptable. ${detailOf(change.problems)}`);
  const named = readAccountUrl(ca.urls, change.value.account);
  if (named?.id !== account.id || !directory.slugs.includes(named.slug))
    throw malformed(`The "account" in ${WHAT} is not the URL of the account that signed the request.`);
  return namedKey(change.value.oldKey, `The "oldKey" in ${WHAT}`);
}
