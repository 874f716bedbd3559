// CA certs with the age of their CRLs, as the status page shows them.
import type { Selectable } from 'kysely';
import type { Db } from './database.ts';
import { type PageOfRows, type Paging, pageQuery, rowsOfPage } from './keyset.ts';
import { isFoundToBeShown, isShownSigningCert } from './signing-certs.ts';
import type { Tables } from './tables.ts';

type Row = Selectable<Tables['signing_certs']>;
type Crl = Selectable<Tables['crls']>;

export type CaTreeRow = Pick<Row, (typeof COLUMNS)[number]> &
  Pick<Crl, 'number' | 'this_update' | 'next_update' | 'uploaded'>;

const COLUMNS = [
  'id',
  'name',
  'state',
  'cert_type',
  'key_availability',
  'key_type',
  'parent_id',
  'not_before',
  'not_after',
  'origin',
  'origin_namespace',
  'origin_name',
  'created_at',
  'revoked_at',
] as const satisfies readonly (keyof Row)[];

const table = 'signing_certs';

/** By id. Undefined when there is no row to begin after. */
export const listCaTreeRows = (db: Db, page: Paging): Promise<PageOfRows<CaTreeRow> | undefined> =>
  rowsOfPage(db, table, page, pageQuery(withCrls(db).where(isShownSigningCert), { table, columns: ['id'] }, page));

export const findCaTreeRow = (db: Db, id: string): Promise<CaTreeRow | undefined> =>
  withCrls(db).where('signing_certs.id', '=', id).where(isFoundToBeShown).executeTakeFirst();

const withCrls = (db: Db) =>
  db
    .selectFrom(table)
    .leftJoin('crls', 'crls.signing_cert_id', 'signing_certs.id')
    .select(COLUMNS.map((column) => `signing_certs.${column}` as const))
    .select((row) => [
      'crls.number',
      'crls.this_update',
      'crls.next_update',
      row.fn.coalesce('crls.uploaded', row.lit(false)).as('uploaded'),
    ]);
