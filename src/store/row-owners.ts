// Which custom resource a row belongs to, asked by the id of the row.
import { gatheredRows } from './gathered.ts';
import { sql } from './statement.ts';

type RowOwner = { readonly id: string; readonly uid: string };

/** Of a CA cert or a directory; undefined for rows of /v1, orphaned ones and what is deleted. */
export const findRowOwner = gatheredRows<RowOwner>(
  (_db, ids) => sql<RowOwner>`
    select id, origin_uid as uid from signing_certs
     where id = ${ids} and (origin = 'kubernetes' and orphaned_at is null and deleted_at is null) is true
     union all
    select id, origin_uid from directories
     where id = ${ids} and (origin = 'kubernetes' and orphaned_at is null and deleted_at is null) is true`,
);
