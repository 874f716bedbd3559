// What an explanation reads of the account that would order.
import type { Selectable } from 'kysely';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

export type OrderingAccountRow = Pick<Selectable<Tables['acme_keys']>, 'directory_id' | 'state' | 'order_validations'>;

export const findOrderingAccount = (db: Db, acmeKeyId: string): Promise<OrderingAccountRow | undefined> =>
  db
    .selectFrom('acme_keys')
    .select(['directory_id', 'state', 'order_validations'])
    .where('id', '=', acmeKeyId)
    .executeTakeFirst();
