// Authorizations and challenges as the account that holds them reads them, and the end of an authorization.
import type { Selectable } from 'kysely';
import { challengeLifecycle } from '../lifecycles/challenge.ts';
import { sourcesOf } from '../lifecycles/lifecycle.ts';
import { orderLifecycle } from '../lifecycles/order.ts';
import { askedFor, type Held, type Holder, type OwnAsk } from './acme-orders.ts';
import type { Tx } from './database.ts';
import { gatheredOn } from './gathered.ts';
import { type Statement, sql } from './statement.ts';
import type { StoredProblem, Tables } from './tables.ts';

type Authorization = Selectable<Tables['authorizations']>;
type Challenge = Selectable<Tables['challenges']>;

/** A challenge with what it is of. */
export type ChallengeRow = Pick<
  Challenge,
  'id' | 'type' | 'state' | 'token' | 'validated_at' | 'error' | 'attempts' | 'authorization_id'
> &
  Pick<Authorization, 'expires_at' | 'value' | 'wildcard'> &
  Held & {
    readonly authorization_state: Authorization['state'];
    readonly identifier_type: Authorization['type'];
  };

/** The challenges of an authorization of this account, in no order; none where it has no such authorization. Many at once are one statement. */
export const findAuthorization = gatheredOn<OwnAsk, readonly ChallengeRow[]>(async (db, asks) => {
  const { rows } = await sql<ChallengeRow & { readonly asked: number }>`
    select asked.position::integer as asked, ${challengeColumns}
      from ${askedFor(asks)}
      join authorizations a on a.id = asked.id and (a.acme_key_id = asked.acme_key_id) is true
      join acme_keys k on k.id = a.acme_key_id
      join challenges c on c.authorization_id = a.id`.execute(db);
  const found = Map.groupBy(rows, ({ asked }) => asks[asked - 1]);
  return (ask) => found.get(ask) ?? [];
});

/** Of a ChallengeRow, read from `c`, `a` and `k`. */
export const challengeColumns = sql`
  c.id, c.type, c.state, c.token, c.validated_at, c.error, c.attempts, c.authorization_id,
  a.state as authorization_state, a.expires_at, a.type as identifier_type, a.value, a.wildcard,
  k.id as acme_key_id, k.directory_id`;

/** An account has one directory for life; both are named all the same (SEC-38). */
export const heldBy = ({ accountId, directoryId }: Holder): Statement<unknown> => sql`
  (a.acme_key_id = ${accountId}) is true
  and exists (select from acme_keys k where k.id = a.acme_key_id and (k.directory_id = ${directoryId}) is true)`;

/**
 * For who is about to end an authorization: the orders that lean on it and are not done. New ones come only from those
 * who hold its account.
 */
export async function lockOrdersLeaningOn(tx: Tx, authorizationId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    select o.id from order_authorizations oa join orders o on o.id = oa.order_id
     where oa.authorization_id = ${authorizationId} and o.state = any(${sourcesOf(orderLifecycle, 'invalid')})
     order by o.id for update of o`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Of orders that are locked; what is being signed for them is dropped. */
export async function endLockedOrders(tx: Tx, ids: readonly string[], error: StoredProblem): Promise<void> {
  await sql`
    update orders set state = 'invalid', error = ${JSON.stringify(error)}::jsonb,
                      tbs = null, due_at = null, lease_until = null
     where id = any(${ids}::uuid[]) and state = any(${sourcesOf(orderLifecycle, 'invalid')})`.execute(tx);
}

/** Nothing is looked for any more. Whether something was: a try had begun, and none has succeeded. */
export async function endProbesOf(tx: Tx, authorizationId: string, error: StoredProblem): Promise<boolean> {
  const { rows } = await sql<{ readonly attempts: number }>`
    update challenges set state = 'invalid', error = ${JSON.stringify(error)}::jsonb,
                          failures = null, due_at = null, lease_until = null
     where authorization_id = ${authorizationId}
       and state = any(${sourcesOf(challengeLifecycle, 'invalid')})
    returning attempts`.execute(tx);
  return rows.some(({ attempts }) => attempts > 0);
}
