// Who made a row: the columns that say it, and the guard of statements that change rows for /v1.
import { type SqlBool, sql } from 'kysely';

/** Rows of a custom resource change with it alone; one that it left behind (Retain) belongs to nobody. */
export const isChangeable = sql<SqlBool>`(origin <> 'kubernetes' or orphaned_at is not null)`;
