// Statements on api_tokens.
import { type Selectable, sql } from 'kysely';
import type { Db, Tx } from './database.ts';
import { gatheredReads } from './gathered.ts';
import type { Tables } from './tables.ts';

type ApiToken = Selectable<Tables['api_tokens']>;
export type ApiTokenRow = Omit<ApiToken, 'sha256'>;
type NewApiToken = Omit<ApiToken, 'last_used_on' | 'revoked_at'>;

const COLUMNS = ['id', 'name', 'permission', 'created_at', 'expires_at', 'last_used_on', 'revoked_at'] as const;

export const insertApiToken = (tx: Tx, token: NewApiToken): Promise<ApiTokenRow> =>
  tx.insertInto('api_tokens').values(token).returning(COLUMNS).executeTakeFirstOrThrow();

/** All of them, the oldest first: tokens are made by hand, so there are few. */
export const listApiTokenRows = (db: Db): Promise<ApiTokenRow[]> =>
  db.selectFrom('api_tokens').select(COLUMNS).orderBy('id').execute();

export const findApiToken = (db: Db, id: string): Promise<ApiTokenRow | undefined> =>
  db.selectFrom('api_tokens').select(COLUMNS).where('id', '=', id).executeTakeFirst();

/** By the SHA-256 digest in hex; many at once are one statement. */
export const findApiTokenByDigest = gatheredReads(async (db, digests) => {
  const rows = await db
    .selectFrom('api_tokens')
    .select([...COLUMNS, 'sha256'])
    .where('sha256', '=', sql<Buffer>`any(${digests.map((digest) => Buffer.from(digest, 'hex'))})`)
    .execute();
  return new Map(rows.map(({ sha256, ...row }): [string, ApiTokenRow] => [sha256.toString('hex'), row]));
});

/** Undefined when there is no such token or it was revoked before. */
export const revokeApiToken = (tx: Tx, id: string, now: Date): Promise<ApiTokenRow | undefined> =>
  tx
    .updateTable('api_tokens')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returning(COLUMNS)
    .executeTakeFirst();

/** Notes a day of use. Changes nothing when that day, or a later one, stands there already; need not survive a crash. */
export const stampApiToken = (db: Db, id: string, day: string) =>
  sql`
    update api_tokens set last_used_on = ${day}
     where id = ${id} and (last_used_on is null or last_used_on < ${day})
       and set_config('synchronous_commit', 'off', true) is not null`.execute(db);
