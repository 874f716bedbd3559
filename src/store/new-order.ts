// The statements that make orders and authorizations: each is one, so that nothing that they lean on changes meanwhile.
import type { AuthorizationState } from '../lifecycles/authorization.ts';
import type { ChallengeState, ChallengeType } from '../lifecycles/challenge.ts';
import type { AcmeOrderRow } from './acme-orders.ts';
import type { Db } from './database.ts';
import { replacement } from './renewal-info.ts';
import { type Statement, sql, verbatim } from './statement.ts';

/** Rows as they were read when it was decided. */
export type Seen = {
  readonly account: { readonly id: string; readonly version: number };
  readonly directory: { readonly id: string; readonly version: number };
};

export type NewAuthorizations = {
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Approved without a challenge: they are born valid, and so are their challenges. */
  readonly auto: boolean;
  readonly list: readonly NewAuthorization[];
};
export type NewAuthorization = {
  readonly id: string;
  readonly type: 'dns' | 'ip';
  /** Lower case, without `*.`. */
  readonly value: string;
  readonly wildcard: boolean;
  readonly challenges: readonly { readonly id: string; readonly type: ChallengeType; readonly token: string }[];
};

export type NewOrder = Pick<
  AcmeOrderRow,
  'id' | 'identifiers' | 'not_before' | 'not_after' | 'profile' | 'replaces'
> & {
  /** The certificate of ours that `replaces` names. */
  readonly replacedCertId: string | undefined;
};

/** Which authorizations may serve a new order: what matches one of its identifiers and lies after both. */
export type Reuse = { readonly validatedAfter: Date; readonly expiresAfter: Date };

export type InsertedOrder = Pick<AcmeOrderRow, 'state' | 'expires_at' | 'authorization_ids'>;

/**
 * Those of one identifier that are looked at for reuse, the longest living first: they are all that a client has begun
 * for it in a day, and no index knows which are valid. Compared as rows, because only the index of all five columns
 * gives that order: by equal columns Postgres might as well walk through everybody's by expiry.
 */
const MOST_LOOKED_AT = verbatim('100');

/**
 * Makes an order with an authorization for each of its identifiers: a valid one that serves (ORD-22, ORD-23), else a new
 * one. Ready at once where all are valid. Holds the account, then the authorizations that are reused, so nobody ends
 * them meanwhile unseen. Undefined when account or directory are not as they were seen, or no longer valid, or when
 * another order came to replace the certificate.
 */
export async function insertOrder(
  db: Db,
  seen: Seen,
  order: NewOrder,
  wanted: NewAuthorizations,
  reuse: Reuse,
): Promise<InsertedOrder | undefined> {
  const { createdAt, expiresAt, auto, list } = wanted;
  const { rows } = await sql<InsertedOrder>`
    with seen as (${accountAsSeen(seen)}),
    replaced as (${replacing(order, createdAt)}),
    account as (select seen.* from seen, replaced),
    wanted as (
      select * from unnest(${list.map(({ id }) => id)}::uuid[], ${list.map(({ type }) => type)}::text[],
                           ${list.map(({ value }) => value)}::text[], ${list.map(({ wildcard }) => wildcard)}::boolean[])
               with ordinality as wanted (id, type, value, wildcard, position)),
    reused as (
      select wanted.position, a.id, a.expires_at
        from account cross join wanted
        cross join lateral (
          select id from (
            select id, state, auto, validated_at, expires_at from authorizations
             where (acme_key_id, type, value, wildcard, expires_at)
                   > (account.id, wanted.type, wanted.value, wanted.wildcard, ${reuse.expiresAfter}::timestamptz)
               and (acme_key_id, type, value, wildcard, expires_at)
                   <= (account.id, wanted.type, wanted.value, wanted.wildcard, 'infinity'::timestamptz)
             order by acme_key_id desc, type desc, value desc, wildcard desc, expires_at desc
             limit ${MOST_LOOKED_AT}) begun
           where state = 'valid' and auto = ${auto} and validated_at > ${reuse.validatedAfter}
           order by expires_at desc limit 1) best
        cross join lateral (
          select id, expires_at from authorizations where id = best.id and state = 'valid' limit 1 for share) a),
    chosen as (
      select wanted.*, reused.id as reused_id, reused.expires_at from wanted left join reused using (position)),
    lacking as (select * from chosen where reused_id is null),
    placed as (
      insert into orders (id, acme_key_id, directory_id, created_at, expires_at, not_before, not_after, state, profile,
                          identifiers, replaces)
      select ${order.id}::uuid, account.id, account.directory_id, ${createdAt}::timestamptz,
             least(${expiresAt}::timestamptz, (select min(expires_at) from chosen)),
             ${order.not_before}::timestamptz, ${order.not_after}::timestamptz,
             case when ${auto} or not exists (select from lacking) then 'ready' else 'pending' end,
             ${order.profile}::text, ${JSON.stringify(order.identifiers)}::jsonb, ${order.replaces}::text
        from account
      returning id, state, expires_at),
    ${authorized(wanted, sql`account, lacking`)},
    ${offered(wanted)},
    linked as (
      insert into order_authorizations (order_id, authorization_id, position)
      select placed.id, coalesce(chosen.reused_id, chosen.id), chosen.position - 1 from placed, chosen)
    select state, expires_at,
           array(select coalesce(reused_id, id) from chosen order by position) as authorization_ids
      from placed`.execute(db);
  return rows[0];
}

/** Makes one authorization without an order. False when account or directory are not as they were seen. */
export async function insertAuthorization(db: Db, seen: Seen, wanted: NewAuthorizations): Promise<boolean> {
  const [authorization] = wanted.list;
  if (authorization === undefined) throw new RangeError('An authorization is of one identifier.');
  const { id, type, value, wildcard } = authorization;
  const { rows } = await sql`
    with account as (${accountAsSeen(seen)}),
    wanted as (
      select ${id}::uuid as id, ${type}::text as type, ${value}::text as value, ${wildcard}::boolean as wildcard),
    ${authorized(wanted, sql`account, wanted as lacking`)},
    ${offered(wanted)}
    select from authorized`.execute(db);
  return rows.length === 1;
}

/** One row where the order replaces nothing of ours, or is now the one that does. */
const replacing = ({ id, replacedCertId }: NewOrder, now: Date): Statement<unknown> =>
  replacedCertId === undefined ? sql`select` : replacement(replacedCertId, id, now, sql`exists (select from seen)`);

/** Whoever changes the account waits until the statement is committed, or is seen by it. */
const accountAsSeen = ({ account, directory }: Seen): Statement<unknown> => sql`
  select k.id, k.directory_id from acme_keys k join directories d on d.id = k.directory_id
   where k.id = ${account.id} and (k.version = ${account.version} and k.state = 'valid') is true
     and (d.id = ${directory.id} and d.version = ${directory.version} and d.deleted_at is null) is true
     for share of k`;

function authorized({ createdAt, expiresAt, auto }: NewAuthorizations, from: Statement<unknown>): Statement<unknown> {
  const state: AuthorizationState = auto ? 'valid' : 'pending';
  return sql`
    authorized as (
      insert into authorizations (id, acme_key_id, created_at, expires_at, validated_at, state, type, value, wildcard,
                                  auto)
      select lacking.id, account.id, ${createdAt}::timestamptz, ${expiresAt}::timestamptz,
             ${auto ? createdAt : null}::timestamptz, ${state}::text, lacking.type, lacking.value, lacking.wildcard,
             ${auto}::boolean
        from ${from}
      returning id)`;
}

function offered({ createdAt, auto, list }: NewAuthorizations): Statement<unknown> {
  const challenges = list.flatMap(({ id, challenges }) => challenges.map((row) => ({ ...row, authorizationId: id })));
  const state: ChallengeState = auto ? 'valid' : 'pending';
  return sql`
    offered as (
      insert into challenges (id, authorization_id, type, state, token, validated_at)
      select c.id, authorized.id, c.type, ${state}::text, c.token, ${auto ? createdAt : null}::timestamptz
        from unnest(${challenges.map(({ id }) => id)}::uuid[],
                    ${challenges.map(({ authorizationId }) => authorizationId)}::uuid[],
                    ${challenges.map(({ type }) => type)}::text[],
                    ${challenges.map(({ token }) => token)}::text[]) as c (id, authorization_id, type, token)
        join authorized on authorized.id = c.authorization_id)`;
}
