// Orders as the account that made them reads them: every statement names the account and its directory (ACC-13, SEC-38).
import { type Selectable, sql } from 'kysely';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

/** Whose the rows have to be. */
export type Holder = { readonly accountId: string; readonly directoryId: string };

type Row = Selectable<Tables['orders']>;
export type AcmeOrderRow = Pick<Row, (typeof COLUMNS)[number]> & {
  /** In the order of the identifiers. */
  readonly authorization_ids: readonly string[];
};

const COLUMNS = [
  'id',
  'state',
  'expires_at',
  'identifiers',
  'not_before',
  'not_after',
  'profile',
  'replaces',
  'error',
  'issued_cert_id',
] as const satisfies readonly (keyof Row)[];

export const findAcmeOrder = (
  db: Db,
  { accountId, directoryId }: Holder,
  id: string,
): Promise<AcmeOrderRow | undefined> =>
  db
    .selectFrom('orders')
    .select(COLUMNS)
    .select(
      sql<readonly string[]>`array(
        select authorization_id from order_authorizations where order_id = orders.id order by position)`.as(
        'authorization_ids',
      ),
    )
    .where('id', '=', id)
    .where('acme_key_id', '=', accountId)
    .where('directory_id', '=', directoryId)
    .executeTakeFirst();
