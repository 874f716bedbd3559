// Why orders failed: their own errors, and what came of each challenge.
import { type Selectable, sql } from 'kysely';
import type { Db } from './database.ts';
import type { StoredProblem, Tables } from './tables.ts';

type Authorization = Selectable<Tables['authorizations']>;
type Challenge = Selectable<Tables['challenges']>;

type AuthorizationOfOrder = Pick<Authorization, 'value' | 'wildcard' | 'auto' | 'expires_at'> & {
  readonly authorization_id: string;
  readonly authorization_state: Authorization['state'];
};

export type ChallengeOfOrder = Pick<
  Challenge,
  'id' | 'type' | 'state' | 'validated_at' | 'error' | 'failures' | 'attempts'
>;

/** An authorization without a challenge, as those that are approved for the account, has nulls in its place. */
type Joined = AuthorizationOfOrder & (ChallengeOfOrder | { readonly id: null });

/** Of those that have one. */
export async function findOrderErrors(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, StoredProblem>> {
  const { rows } = await sql<{ readonly id: string; readonly error: StoredProblem }>`
    select id, error from orders where id = any(${ids}::uuid[]) and error is not null`.execute(db);
  return new Map(rows.map(({ id, error }) => [id, error]));
}

/** In the order of the identifiers; an authorization may have several challenges, or none. */
export async function listOrderChallenges(db: Db, orderId: string): Promise<readonly Joined[]> {
  const { rows } = await sql<Joined>`
    select a.id as authorization_id, a.state as authorization_state, a.value, a.wildcard,
           a.auto, a.expires_at, c.id, c.type, c.state, c.validated_at, c.error, c.failures, c.attempts
      from order_authorizations oa
      join authorizations a on a.id = oa.authorization_id
      left join challenges c on c.authorization_id = a.id
     where oa.order_id = ${orderId}
     order by oa.position, c.type`.execute(db);
  return rows;
}
