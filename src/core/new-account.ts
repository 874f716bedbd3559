// newAccount (RFC 8555 section 7.3) for a key that was never seen: who may register it, and the account that comes of it.
import type { AccountKey } from './account-key.ts';
import { type AccountView, accountOfKey, accountView, clientActor, isKeyTaken } from './accounts.ts';
import { AcmeError } from './acme-error.ts';
import type { AcmeDirectory } from './acme-requests.ts';
import type { Ca } from './ca.ts';
import { requireContacts } from './contacts.ts';
import { CaError } from './errors.ts';
import { type BindingProof, bindingRefused, verifiedBinding } from './external-account.ts';
import { newUuid } from './ids.ts';
import { spendAccounts } from './rate-limits.ts';
import { registerNewKey, type Sponsor } from './register-account.ts';

export type NewAccount = {
  readonly directory: AcmeDirectory;
  readonly key: AccountKey;
  readonly contacts: readonly string[];
  readonly termsAgreed: boolean;
  readonly binding: BindingProof | undefined;
  readonly clientAddress: string;
  readonly requestId: string;
};

type Made = { readonly account: AccountView; readonly isNew: boolean };

/**
 * Registers a key that accountOfKey does not know. A binding is verified wherever one is sent (EAB-5), and spent with
 * the registration. Of several at once with one key, one makes the account and all are given it (ACC-18). Holds the
 * directory, then the token. Throws AcmeError, and `unavailable`.
 */
export async function newAccount(ca: Ca, request: NewAccount): Promise<Made> {
  const { directory, key, contacts, clientAddress, requestId } = request;
  requireContacts(contacts);
  requireTerms(request);
  requireBinding(request);
  const id = newUuid(ca.clock.now());
  try {
    const sponsor = await sponsorOf(ca, request);
    await spendAccounts(ca, clientAddress);
    const row = await registerNewKey(ca, clientActor({ id }, requestId), {
      id,
      directoryId: directory.id,
      key,
      contacts,
      origin: 'acme',
      sponsor,
      ...(directory.terms_of_service !== null && { termsAgreed: directory.terms_of_service }),
    });
    const made = { terms_agreed: directory.terms_of_service, eab_jws: request.binding?.jws ?? null };
    return { account: accountView({ ...row, ...made }), isNew: true };
  } catch (error) {
    if (!mayBeLostRace(error)) throw error;
    const account = await accountOfKey(ca, directory, key);
    if (account === undefined) throw tokenRefused(error);
    return { account, isNew: false };
  }
}

/** ACC-5, ACC-15: of no effect on accounts that there are. */
function requireTerms({ directory: { terms_of_service: terms }, termsAgreed }: NewAccount): void {
  if (terms === null || termsAgreed) return;
  throw new AcmeError(
    'userActionRequired',
    `Agree to the terms of service at ${terms}: send termsOfServiceAgreed with the value true.`,
    { headers: { Link: `<${terms}>;rel="terms-of-service"` } },
  );
}

function requireBinding({ directory, binding }: NewAccount): void {
  if (binding !== undefined || directory.registration_mode === 'open') return;
  throw new AcmeError(
    'externalAccountRequired',
    'This directory makes accounts only for keys that are registered before, or by an external account binding; ask its operator for an EAB token.',
  );
}

async function sponsorOf(ca: Ca, { directory, binding }: NewAccount): Promise<Sponsor> {
  if (binding === undefined) return { name: '', orderValidations: 'challenge' };
  return { token: await verifiedBinding(ca, directory.id, binding), jws: binding.jws };
}

const mayBeLostRace = (error: unknown): boolean =>
  isKeyTaken(error) || (error instanceof CaError && (error.kind === 'token_used' || error.kind === 'not_found'));

function tokenRefused(error: unknown): unknown {
  if (!(error instanceof CaError)) return error;
  return error.kind === 'token_used'
    ? new AcmeError('unauthorized', 'This EAB token was used by another account key; ask for a new one.')
    : bindingRefused();
}
