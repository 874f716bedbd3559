// Accounts and their orders for tests, as rows: they come from ACME clients, whose whole way there does not matter here.
import type { Insertable } from 'kysely';
import type { Ca } from '../../src/core/ca.ts';
import { newUuid } from '../../src/core/ids.ts';
import type { Identifier, Tables } from '../../src/store/tables.ts';
import { DAY_MS } from './clock.ts';
import { exampleRows, insertRows } from './rows.ts';

export type GivenAccount = {
  readonly acmeKeyId: string;
  readonly directoryId: string;
  readonly signingCertId: string;
};

/** An account in a directory of its own, which issues from this CA cert; or one more in a directory that is there. */
export async function givenAccount(
  ca: Ca,
  { id: signingCertId }: { readonly id: string },
  directoryId?: string,
): Promise<GivenAccount> {
  const rows = exampleRows();
  const directory = { ...rows.directories, signing_cert_id: signingCertId };
  const account = { ...rows.acme_keys, directory_id: directoryId ?? directory.id };
  const tables = directoryId === undefined ? (['directories', 'acme_keys'] as const) : (['acme_keys'] as const);
  await insertRows(ca.database.db, { ...rows, directories: directory, acme_keys: account }, tables);
  return { acmeKeyId: account.id, directoryId: account.directory_id, signingCertId };
}

type Wanted = Partial<Omit<Insertable<Tables['orders']>, 'identifiers'>> & {
  readonly identifiers?: readonly Identifier[];
};

/** Pending, for a week, unless said otherwise. The uuid. */
export async function givenOrder(
  ca: Ca,
  { acmeKeyId, directoryId }: GivenAccount,
  wanted: Wanted = {},
): Promise<string> {
  const now = ca.clock.now();
  const { identifiers = [{ type: 'dns', value: 'shop.corp.example' }], ...columns } = wanted;
  const order = {
    id: newUuid(now),
    acme_key_id: acmeKeyId,
    directory_id: directoryId,
    created_at: now,
    expires_at: new Date(now.getTime() + 7 * DAY_MS),
    state: 'pending',
    profile: 'server',
    identifiers: JSON.stringify(identifiers),
    ...columns,
  } as const;
  await ca.database.db.insertInto('orders').values(order).execute();
  return order.id;
}
