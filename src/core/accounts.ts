// Accounts as their ACME clients see them, and what is said of a key that comes as a new one.
import { type AccountOfKey, findKnownKey, type KnownKey } from '../store/known-keys.ts';
import { type AccountKey, isTakenBy } from './account-key.ts';
import { AcmeError, type AcmeErrorType } from './acme-error.ts';
import type { AcmeDirectory } from './acme-requests.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { formatId } from './ids.ts';

export type AccountView = {
  readonly id: string;
  readonly state: AccountOfKey['state'];
  readonly contacts: readonly string[];
  readonly termsAgreed: boolean;
  /** Text of the JWS, as it came (EAB-4). */
  readonly externalAccountBinding: string | undefined;
};

type Standing = 'here' | 'elsewhere' | 'replaced' | 'deactivated' | 'revoked' | 'compromised' | 'certificate';

type Refusal = {
  readonly type: AcmeErrorType;
  readonly detail: string;
  /** Whether who only asks for an account hears that there is none. */
  readonly isUnknown: boolean;
};

/** ACC-12, KEY-4, KEY-7: acme.sh takes a 403 for a key that will never work again. */
const refusals: Readonly<Record<Exclude<Standing, 'here'>, Refusal>> = {
  elsewhere: unauthorized('is that of an account in another directory', true),
  replaced: unauthorized('was that of an account that has another key now', true),
  deactivated: unauthorized('is that of an account that its owner has deactivated', false),
  revoked: unauthorized('is that of an account that an administrator has revoked', false),
  compromised: badPublicKey('is blocked, because its private key is known to others'),
  certificate: badPublicKey('is that of an issued certificate'),
};

const keyConstraints = ['used_keys_pkey', 'used_keys_not_of_certificate'];

type Key = Pick<AccountKey, 'thumbprint'>;

/** What accountOfKey decides by. */
export const readKnownKey = ({ database: { db } }: Ca, { thumbprint }: Key): Promise<KnownKey | undefined> =>
  findKnownKey(db, thumbprint);

/**
 * The account of a key in this directory, at the cost of one look-up; undefined for a key that was never seen. Throws
 * AcmeError for every other key; who only asks for an account hears `accountDoesNotExist` for none (ACC-3).
 */
export async function accountOfKey(
  ca: Ca,
  { id: directoryId }: Pick<AcmeDirectory, 'id'>,
  key: Key,
  { onlyReturnExisting = false, found = readKnownKey(ca, key) } = {},
): Promise<AccountView | undefined> {
  const { thumbprint } = key;
  const known = await found;
  if (known === undefined) {
    if (onlyReturnExisting) throw noAccount('has no account');
    return undefined;
  }
  const standing = standingOf(known, directoryId, thumbprint);
  if (standing === 'here') return 'account' in known ? accountView(known.account) : undefined;
  const { type, detail, isUnknown } = refusals[standing];
  if (onlyReturnExisting && isUnknown) throw noAccount('has no account in this directory');
  throw new AcmeError(type, detail);
}

/** Whether a key could not be given to an account: accountOfKey then says what it is. */
export const isKeyTaken = (error: unknown): boolean => isTakenBy(error, keyConstraints);

export const accountView = (
  row: Pick<AccountOfKey, 'id' | 'state' | 'contacts' | 'terms_agreed' | 'eab_jws'>,
): AccountView => ({
  id: row.id,
  state: row.state,
  contacts: row.contacts,
  termsAgreed: row.terms_agreed !== null,
  externalAccountBinding: row.eab_jws ?? undefined,
});

/** As audit records name an ACME client. */
export const clientActor = ({ id }: { readonly id: string }, requestId: string | undefined): Actor => ({
  kind: 'acme_key',
  name: formatId('acmk', id),
  ...(requestId !== undefined && { requestId }),
});

/** What a request hears whose account was valid when it came, and is so no more. */
export const accountEnded = (): AcmeError =>
  new AcmeError('unauthorized', 'The account has ended, or has another key, since the request came.', { status: 401 });

function standingOf(known: KnownKey, directoryId: string, thumbprint: Buffer): Standing {
  if (!('account' in known)) return known.why;
  const { account } = known;
  if (!account.thumbprint.equals(thumbprint)) return 'replaced';
  if (account.state !== 'valid') return account.state;
  return account.directory_id === directoryId ? 'here' : 'elsewhere';
}

function unauthorized(what: string, isUnknown: boolean): Refusal {
  return { type: 'unauthorized', detail: `This key ${what}; make a new key.`, isUnknown };
}

function badPublicKey(what: string): Refusal {
  return { type: 'badPublicKey', detail: `This key ${what}; make a new key.`, isUnknown: false };
}

const noAccount = (what: string): AcmeError =>
  new AcmeError('accountDoesNotExist', `This key ${what}; send newAccount without onlyReturnExisting to make one.`);
