// Accounts (RFC 8555 section 7.3): newAccount, and what an account may do to itself.
import { type AccountView, accountOfKey, accountView, readKnownKey } from '../core/accounts.ts';
import { AcmeError } from '../core/acme-error.ts';
import type { AcmeAccount } from '../core/acme-requests.ts';
import { deactivateAccount } from '../core/deactivate-account.ts';
import { formatId } from '../core/ids.ts';
import { newAccount } from '../core/new-account.ts';
import { updateAccount } from '../core/update-account.ts';
import { accountUrl, acmePaths, acmeUrlOf } from '../core/urls.ts';
import { listOf, Type } from '../schema/define.ts';
import { readExternalAccount } from './external-account.ts';
import { type AcmeReply, type AcmeRequest, signedRoute } from './route.ts';

/** How many count is decided by the core, for accounts that are not there yet (ACC-2). */
const contact = Type.Optional(listOf(Type.String(), 1_000));

export const newAccountRoute = signedRoute({
  path: acmePaths.newAccount,
  signer: 'newKey',
  json: Type.Object({
    contact,
    termsOfServiceAgreed: Type.Optional(Type.Boolean()),
    onlyReturnExisting: Type.Optional(Type.Boolean()),
    externalAccountBinding: Type.Optional(Type.Unknown()),
  }),
  ahead: ({ ca, key }) => readKnownKey(ca, key),
  handle: async (request) => {
    const { ca, directory, key, payload, ahead: found, clientAddress, requestId } = request;
    const { onlyReturnExisting = false } = payload;
    const known = await accountOfKey(ca, directory, key, { onlyReturnExisting, found });
    if (known !== undefined) return located(200, request, known);
    const { contact: contacts = [], termsOfServiceAgreed: termsAgreed = false, externalAccountBinding } = payload;
    const binding =
      externalAccountBinding === undefined ? undefined : readExternalAccount(externalAccountBinding, request);
    const made = await newAccount(ca, { directory, key, contacts, termsAgreed, binding, clientAddress, requestId });
    return located(made.isNew ? 201 : 200, request, made.account);
  },
});

export const accountRoute = signedRoute({
  path: acmePaths.account,
  signer: 'account',
  orEmpty: true,
  // A status other than `deactivated` is ignored (ACC-10).
  json: Type.Object({ contact, status: Type.Optional(Type.String()) }),
  handle: async (request) => {
    const { ca, account, payload, requestId } = request;
    requireOwnUrl(request);
    if (payload?.status === 'deactivated') return shown(request, await deactivateAccount(ca, account, requestId));
    return shown(request, await updateAccount(ca, account, payload?.contact, requestId));
  },
});

/** Throws `malformed` (404): an account sees its own URLs alone, and of all others the same (ACC-13). */
export function requireOwnUrl({
  account,
  params,
}: Pick<AcmeRequest, 'params'> & { readonly account: AcmeAccount }): void {
  if (params.id === formatId('acmk', account.id)) return;
  throw new AcmeError('malformed', 'This is not a URL of the account that signed the request.', { status: 404 });
}

/** Without a change. */
export const shownAccount = (request: Shown & { readonly account: AcmeAccount }): AcmeReply =>
  shown(request, accountView(request.account));

type Shown = Pick<AcmeRequest, 'ca' | 'directory'>;

const shown = (request: Shown, account: AccountView): AcmeReply => ({ status: 200, json: render(request, account) });

const located = (status: 200 | 201, request: Shown, account: AccountView): AcmeReply => ({
  status,
  headers: { Location: accountUrl(request.ca.urls, request.directory.requestSlug, account.id) },
  json: render(request, account),
});

function render({ ca, directory }: Shown, { id, state, contacts, termsAgreed, externalAccountBinding }: AccountView) {
  const binding: unknown = externalAccountBinding === undefined ? undefined : JSON.parse(externalAccountBinding);
  return {
    status: state,
    ...(contacts.length > 0 && { contact: contacts }),
    ...(termsAgreed && { termsOfServiceAgreed: true }),
    ...(binding !== undefined && { externalAccountBinding: binding }),
    orders: acmeUrlOf(ca.urls, directory.requestSlug, 'orders', id),
  };
}
