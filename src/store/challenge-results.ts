// Challenges that are due for validation, and what becomes of them, their authorizations and orders. Locks orders first,
// then the authorization, then the challenge; who has lost the lease, or comes after another result, changes nothing.
import type { Selectable } from 'kysely';
import { columnsOf } from './columns.ts';
import type { Db, Tx } from './database.ts';
import { type Claim, type Claiming, claimStatement, type DueRows } from './due.ts';
import { quickly } from './quick-writes.ts';
import { type Statement, sql } from './statement.ts';
import type { StoredProblem, Tables } from './tables.ts';

type Challenge = Selectable<Tables['challenges']>;
type Authorization = Selectable<Tables['authorizations']>;
type Directory = Selectable<Tables['directories']>;

/** A challenge under lease with all that its validation stands on; at attempt 0 one of which nothing is written yet. */
export type ChallengeClaim = Claim &
  Pick<Challenge, 'authorization_id' | 'type' | 'token' | 'failures'> &
  Pick<Authorization, 'value' | 'wildcard' | 'state' | 'expires_at'> &
  Surroundings & {
    readonly key_authorization: string;
    readonly account_url: string;
    readonly identifier_type: Authorization['type'];
    readonly acme_key_id: string;
    readonly directory_id: string;
  };

/** Of a ChallengeClaim what stands neither in its challenge nor in its authorization. */
export type Surroundings = Pick<Directory, 'caa_tag' | 'on_missing_caa'> & {
  readonly slugs: readonly string[];
  /** No order leans on another authorization beside this one. It never changes (ORD-20, ORD-21). */
  readonly is_alone: boolean;
};

export const dueChallenges: DueRows = {
  table: 'challenges',
  dueAt: 'due_at',
  leaseUntil: 'lease_until',
  attempts: 'attempts',
  where: sql`state = 'processing'`,
};

/** From `a` and `d`. */
export const surroundings = sql`
  d.caa_tag, d.on_missing_caa,
  array(select slug from directory_slugs s where s.directory_id = d.id and (s.released_at is null) is true) as slugs,
  not exists (select 1 from order_authorizations mine
                join order_authorizations other on other.order_id = mine.order_id
               where mine.authorization_id = a.id and other.authorization_id <> a.id) as is_alone`;

const CLAIMED = ['authorization_id', 'type', 'token', 'key_authorization', 'account_url', 'failures'] as const;

/** One statement: the claim, and what the validations need to know. */
export async function claimDueChallenges(db: Db, claiming: Claiming): Promise<readonly ChallengeClaim[]> {
  const { rows } = await sql<ChallengeClaim>`
    with claimed as (${claimStatement(dueChallenges, claiming, CLAIMED)})
    select ${columnsOf('claimed', ['id', 'attempt', ...CLAIMED])},
           a.type as identifier_type, a.value, a.wildcard, a.state, a.expires_at, a.acme_key_id,
           d.id as directory_id, ${surroundings}
      from claimed
      join authorizations a on a.id = claimed.authorization_id
      join acme_keys k on k.id = a.acme_key_id
      join directories d on d.id = k.directory_id`.execute(db);
  return rows;
}

/** Gives a challenge back after a try that failed, due at another time. False when the lease was lost. */
export async function keepFailure(db: Db, { id, attempt }: Claim, failure: StoredProblem, dueAt: Date) {
  const { rows } = await sql`
    update challenges set failures = coalesce(failures, '[]'::jsonb) || ${JSON.stringify([failure])}::jsonb,
                          due_at = ${dueAt}, lease_until = null
     where id = ${id} and (attempts = ${attempt} and state = 'processing') is true
    returning id`.execute(db);
  return rows.length > 0;
}

/**
 * Orders that lean on several authorizations are locked in a statement of their own, before the one that settles: only so
 * does that one see what another, which was faster, has settled for the same order.
 */
export const lockOrdersOf = (tx: Tx, { authorization_id }: ChallengeClaim): Promise<unknown> =>
  sql`${ordersOf(authorization_id)}`.execute(tx);

export type Success = {
  readonly now: Date;
  /** The authorization lives no longer than this. */
  readonly latestEnd: Date;
  /** Null where CAA does not apply. */
  readonly caaCheckedAt: Date | null;
  /** What challenges of the same authorization end with that are looked for as well. */
  readonly others: StoredProblem;
};

/** Challenge and authorization become valid, orders whose authorizations are all valid ready. False: nothing was changed. */
export async function settleValid(db: Db, claim: ChallengeClaim, success: Success): Promise<boolean> {
  const { authorization_id: authorization } = claim;
  const { now, latestEnd, caaCheckedAt, others } = success;
  const { rows } = await sql`
    with ${lockingOpen(authorization, now)},
    mine as materialized (${leased(claim)} and exists (select from undecided) for update),
    validated as (
      update authorizations set state = 'valid', validated_at = ${now}, caa_checked_at = ${caaCheckedAt}::timestamptz,
                                expires_at = least(expires_at, ${latestEnd})
       where id = ${authorization} and exists (select from mine)),
    finished as (${finish(
      claim,
      sql`state = case when id = ${claim.id} then 'valid' else 'invalid' end,
          validated_at = case when id = ${claim.id} then ${now}::timestamptz end,
          error = case when id <> ${claim.id} then ${JSON.stringify(others)}::jsonb end,
          attempts = case when id = ${claim.id} then greatest(attempts, 1) else attempts end,
          key_authorization = case when id = ${claim.id} then ${claim.key_authorization} else key_authorization end,
          account_url = case when id = ${claim.id} then ${claim.account_url} else account_url end`,
    )}),
    readied as (
      update orders o set state = 'ready' from held
       where o.id = held.id and exists (select from mine) and (o.state = 'pending' and o.expires_at > ${now}) is true
         and not exists (select from order_authorizations oa join authorizations other on other.id = oa.authorization_id
                          where oa.order_id = o.id and other.id <> ${authorization}
                            and (other.state <> 'valid' or other.expires_at <= ${now})))
    select id from mine where set_config('synchronous_commit', 'off', true) is not null`.execute(quickly(db));
  return rows.length > 0;
}

export type Failure = {
  readonly now: Date;
  readonly error: StoredProblem;
  readonly others: StoredProblem;
  readonly orderError: StoredProblem;
};

/** The challenge becomes invalid, and with it, where they are open, its authorization and orders. False: nothing was changed. */
export async function settleInvalid(db: Db, claim: ChallengeClaim, failure: Failure): Promise<boolean> {
  const { authorization_id: authorization } = claim;
  const { now, error, others, orderError } = failure;
  const { rows } = await sql`
    with ${lockingOpen(authorization, now)},
    mine as materialized (${leased(claim)} and (select count(*) from undecided) >= 0 for update),
    refused as (
      update authorizations set state = 'invalid' from undecided
       where authorizations.id = undecided.id and exists (select from mine)),
    finished as (${finish(
      claim,
      sql`state = 'invalid',
          error = case when id = ${claim.id} then ${JSON.stringify(error)}::jsonb else ${JSON.stringify(others)}::jsonb end`,
    )}),
    ended as (
      update orders o set state = 'invalid', error = ${JSON.stringify(orderError)}::jsonb from held
       where o.id = held.id and exists (select from mine) and exists (select from undecided)
         and (o.state in ('pending', 'ready') and o.expires_at > ${now}) is true)
    select id from mine where set_config('synchronous_commit', 'off', true) is not null`.execute(quickly(db));
  return rows.length > 0;
}

const ordersOf = (authorizationId: string): Statement<unknown> => sql`
  select o.id from order_authorizations oa join orders o on o.id = oa.order_id
   where oa.authorization_id = ${authorizationId} order by o.id for update of o`;

/** Its orders first, then the authorization itself where it is still to be decided. */
const lockingOpen = (authorizationId: string, now: Date): Statement<unknown> => sql`
  held as materialized (${ordersOf(authorizationId)}),
  undecided as materialized (
    select id from authorizations
     where id = ${authorizationId} and (state = 'pending' and expires_at > ${now}) is true
       and (select count(*) from held) >= 0
       for update)`;

const leased = ({ id, attempt }: Claim): Statement<unknown> => sql`
  select id from challenges
   where id = ${id} and (attempts = ${attempt} and state = ${attempt === 0 ? 'pending' : 'processing'}) is true`;

/** This challenge, and all others of the authorization that are looked for. */
const finish = ({ id, authorization_id }: ChallengeClaim, set: Statement<unknown>): Statement<unknown> => sql`
  update challenges set ${set}, failures = null, due_at = null, lease_until = null
   where authorization_id = ${authorization_id} and (state = 'processing' or id = ${id}) is true
     and exists (select from mine)`;
