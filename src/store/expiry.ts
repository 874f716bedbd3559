// Statements of the sweep that moves what has passed its end. Nobody waits for it: rows that are locked are passed over.
import { sql } from 'kysely';
import type { Db } from './database.ts';
import type { StoredProblem } from './tables.ts';

const PLACE_OF_TIME = '{expires_at}';
const RFC_3339 = 'YYYY-MM-DD"T"HH24:MI:SS"Z"';

type Bounds = { readonly now: Date; readonly limit: number };

/** A place in the order of the ends of authorizations. */
export type AuthorizationEnd = { readonly expiresAt: Date; readonly id: string };

/** Open orders past their end become invalid, for what `error` makes of the end of each; how many did. */
export async function expireOrders(
  db: Db,
  error: (expiresAt: string) => StoredProblem,
  { now, limit }: Bounds,
): Promise<number> {
  const problem = JSON.stringify(error(PLACE_OF_TIME));
  const { rows } = await sql`
    update orders
       set state = 'invalid',
           error = replace(${problem}, ${PLACE_OF_TIME}, to_char(expires_at at time zone 'UTC', ${RFC_3339}))::jsonb
     where id = any(array(select id from orders
                           where state in ('pending', 'ready') and expires_at <= ${now}
                           order by expires_at limit ${limit} for update skip locked))
       and (state in ('pending', 'ready')) is true
    returning id`.execute(db);
  return rows.length;
}

/** Looks at `limit` authorizations that have ended, after this one; those still pending or valid become expired. */
export async function expireAuthorizations(
  db: Db,
  after: AuthorizationEnd,
  { now, limit }: Bounds,
): Promise<{ readonly changed: number; readonly next: AuthorizationEnd | undefined }> {
  const { rows } = await sql<AuthorizationEnd & { readonly changed: number; readonly seen: number }>`
    with seen as (
      select id, expires_at, state from authorizations
       where (expires_at, id) > (${after.expiresAt}, ${after.id}) and expires_at <= ${now}
       order by expires_at, id limit ${limit}),
    changed as (
      update authorizations set state = 'expired'
       where id = any(array(select id from authorizations
                             where id = any(array(select id from seen where state in ('pending', 'valid')))
                               for update skip locked))
         and state in ('pending', 'valid')
      returning id)
    select expires_at as "expiresAt", id, (select count(*)::int from seen) as seen,
           (select count(*)::int from changed) as changed
      from seen order by expires_at desc, id desc limit 1`.execute(db);
  return batchOf(rows[0], limit);
}

/**
 * Challenges still looked for whose authorization waits for them no more become invalid; how many did.
 * Few are looked for at once; `offset 0` has each of their authorizations found by its id.
 */
export async function endDeadChallenges(db: Db, error: StoredProblem, { now, limit }: Bounds): Promise<number> {
  const { rows } = await sql`
    update challenges set state = 'invalid', error = ${JSON.stringify(error)}::jsonb, due_at = null, lease_until = null
     where id = any(array(select c.id from challenges c,
                                 lateral (select state, expires_at from authorizations
                                           where id = c.authorization_id offset 0) a
                           where c.state = 'processing' and (a.state <> 'pending' or a.expires_at <= ${now})
                           limit ${limit} for update of c skip locked))
       and (state = 'processing') is true
    returning id`.execute(db);
  return rows.length;
}

type LastSeen = AuthorizationEnd & { readonly changed: number; readonly seen: number };

/** Where the next batch goes on; undefined when this one was the last. */
export function batchOf(last: LastSeen | undefined, limit: number) {
  if (last === undefined) return { changed: 0, next: undefined };
  const { changed, seen, expiresAt, id } = last;
  return { changed, next: seen < limit ? undefined : { expiresAt, id } };
}
