// What a request of an ACME client stands on, for tests of the core: the rows as the door reads them.
import { expect } from 'vitest';
import { accountOfKey } from '../../src/core/accounts.ts';
import { type AcmeAccount, type AcmeDirectory, findAcmeContext } from '../../src/core/acme-requests.ts';
import type { Ca } from '../../src/core/ca.ts';
import { newAccount } from '../../src/core/new-account.ts';
import { findDirectory } from '../../src/store/directories.ts';
import { anAccountKey } from './given-acme-key.ts';

export async function acmeDirectory(ca: Ca, { id }: { readonly id: string }): Promise<AcmeDirectory> {
  const { slug } = (await findDirectory(ca.database.db, id)) ?? expect.fail('there is no such directory');
  return (await findAcmeContext(ca, { slug, clientAddress: '10.0.0.1' })).directory;
}

export const acmeAccount = ({ database: { db } }: Ca, id: string): Promise<AcmeAccount> =>
  db.selectFrom('acme_keys').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** As the door does it: a known key first. */
export async function registerClient(
  ca: Ca,
  directory: AcmeDirectory,
  wanted: Partial<Parameters<typeof newAccount>[1]> & { readonly onlyReturnExisting?: boolean } = {},
) {
  const { onlyReturnExisting, key = await anAccountKey(), ...others } = wanted;
  const known = await accountOfKey(ca, directory, key, { onlyReturnExisting });
  if (known !== undefined) return { account: known, isNew: false };
  const from = { clientAddress: '10.0.0.1', requestId: 'request-1' };
  const request = { contacts: [], termsAgreed: false, binding: undefined, ...from };
  return newAccount(ca, { ...request, directory, key, ...others });
}

/** An account that its client made, in an open directory. */
export async function givenClient(ca: Ca, directory: { readonly id: string }): Promise<AcmeAccount> {
  const { account } = await registerClient(ca, await acmeDirectory(ca, directory));
  return acmeAccount(ca, account.id);
}
