// The statement of newOrder: one for all that come at once, so that they are flushed to the disk together, and nothing that
// they lean on changes meanwhile.
import type { AcmeOrderRow } from './acme-orders.ts';
import { broughtRows } from './brought-rows.ts';
import type { Db } from './database.ts';
import { answersIn, gatheredWrites, orEachAlone } from './gathered.ts';
import { type AskedBy, accountsAsSeen, askedColumns, askedRow, authorized, wantedBy } from './new-authorization.ts';
import { replacements } from './renewal-info.ts';
import { type Statement, sql, verbatim } from './statement.ts';

type NewOrder = Pick<AcmeOrderRow, 'id' | 'identifiers' | 'not_before' | 'not_after' | 'profile' | 'replaces'> & {
  /** The certificate of ours that `replaces` names. */
  readonly replacedCertId: string | undefined;
};

/** Which authorizations may serve a new order: what matches one of its identifiers and lies after both. */
type Reuse = { readonly validatedAfter: Date; readonly expiresAfter: Date };

export type InsertedOrder = Pick<AcmeOrderRow, 'state' | 'expires_at' | 'authorization_ids'>;

type Ask = AskedBy & { readonly order: NewOrder; readonly reuse: Reuse };

/**
 * Those of one identifier that are looked at for reuse, the longest living first: they are all that a client has begun
 * for it in a day, and no index knows which are valid. Compared as rows, because only the index of all five columns
 * gives that order: by equal columns Postgres might as well walk through everybody's by expiry.
 */
const MOST_LOOKED_AT = verbatim('100');

/** An order of more names than this would keep those that come with it waiting. */
const FEW_NAMES = 10;

const askedRows = broughtRows('asked', {
  ...askedColumns,
  id: 'uuid',
  not_before: 'timestamptz',
  not_after: 'timestamptz',
  profile: 'text',
  identifiers: 'jsonb',
  replaces: 'text',
  replaced_cert_id: 'uuid',
  reuse_validated_after: 'timestamptz',
  reuse_expires_after: 'timestamptz',
});

/**
 * Makes an order with an authorization for each of its identifiers: a valid one that serves (ORD-22, ORD-23), else a new
 * one. Ready at once where all are valid. Holds the account, then the authorizations that are reused, so nobody ends
 * them meanwhile unseen. Undefined when account, directory or its CA cert are not as they were seen, or no longer
 * valid, or when another order came to replace the certificate.
 */
export const insertOrder = (db: Db, ask: Ask): Promise<InsertedOrder | undefined> =>
  ask.wanted.list.length > FEW_NAMES ? insertLarge(db, ask) : insertSmall(db, ask);

const insertSmall = gatheredWrites(orEachAlone(insertOrders));
const insertLarge = async (db: Db, ask: Ask) => (await insertOrders(db, [ask], sql`select`))(ask);

async function insertOrders(db: Db, asks: readonly Ask[], patience: Statement<unknown>) {
  const { rows } = await sql<InsertedOrder & { readonly asked: number }>`
    with ${accountsAsSeen(askedRows(asks.map(orderedRow)), patience)},
    ${replacing(asks) ? firstToReplace : allInPlace},
    ${wantedBy(asks)},
    reused as (
      select wanted.id as instead_of, a.id, a.expires_at
        from wanted
        join account on account.asked = wanted.asked
        cross join lateral (
          select id from (
            select id, state, auto, validated_at, expires_at from authorizations
             where (acme_key_id, type, value, wildcard, expires_at)
                   > (wanted.acme_key_id, wanted.type, wanted.value, wanted.wildcard, account.reuse_expires_after)
               and (acme_key_id, type, value, wildcard, expires_at)
                   <= (wanted.acme_key_id, wanted.type, wanted.value, wanted.wildcard, 'infinity'::timestamptz)
             order by acme_key_id desc, type desc, value desc, wildcard desc, expires_at desc
             limit ${MOST_LOOKED_AT}) begun
           where state = 'valid' and auto = wanted.auto and validated_at > account.reuse_validated_after
           order by expires_at desc limit 1) best
        cross join lateral (
          select id, expires_at from authorizations where id = best.id and state = 'valid' limit 1 for share) a),
    chosen as materialized (
      select wanted.asked, wanted.position, wanted.id as wanted_id, reused.id as reused_id,
             reused.expires_at
        from wanted left join reused on reused.instead_of = wanted.id),
    lacking as materialized (select wanted.* from wanted join chosen on wanted_id = id where reused_id is null),
    placed as (
      insert into orders (id, acme_key_id, directory_id, created_at, expires_at, not_before, not_after, state, profile,
                          identifiers, replaces)
      select id, acme_key_id, directory_id, created_at,
             least(expires_at, (select min(expires_at) from chosen where chosen.asked = account.asked)),
             not_before, not_after,
             case when auto or account.asked not in (select asked from lacking) then 'ready' else 'pending' end,
             profile, identifiers, replaces
        from account
      returning id, state, expires_at),
    ${authorized(asks)},
    linked as (
      insert into order_authorizations (order_id, authorization_id, position)
      select account.id, coalesce(reused_id, wanted_id), position
        from chosen join account on account.asked = chosen.asked)
    select account.asked, placed.state, placed.expires_at,
           array(select coalesce(reused_id, wanted_id) from chosen
                  where chosen.asked = account.asked order by position) as authorization_ids
      from placed join account on account.id = placed.id`.execute(db);
  return answersIn(asks, rows);
}

const replacing = (asks: readonly Ask[]): boolean => asks.some(({ order }) => order.replacedCertId !== undefined);

const allInPlace = verbatim('account as (select * from seen)');
const firstToReplace = sql`
  replaced as (${replacements}),
  account as materialized (
    select * from seen where replaced_cert_id is null or id in (select order_id from replaced))`;

function orderedRow(ask: Ask, index: number) {
  const { replacedCertId, ...order } = ask.order;
  const { reuse } = ask;
  return {
    ...askedRow(ask, index),
    ...order,
    replaced_cert_id: replacedCertId,
    reuse_validated_after: reuse.validatedAfter,
    reuse_expires_after: reuse.expiresAfter,
  };
}
