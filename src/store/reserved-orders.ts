// Orders in `processing`: from the statement that reserves what is to be signed to those that end or release them.
import type { Selectable } from 'kysely';
import { sourcesOf } from '../lifecycles/lifecycle.ts';
import { orderLifecycle } from '../lifecycles/order.ts';
import { broughtRows } from './brought-rows.ts';
import type { Db } from './database.ts';
import type { DueRows } from './due.ts';
import type { FinalizeRow } from './finalize.ts';
import { gatheredWrites, orEachAlone } from './gathered.ts';
import { quickly } from './quick-writes.ts';
import { type Statement, sql } from './statement.ts';
import type { StoredProblem, Tables } from './tables.ts';
import { KEY_LOCKS, keyLockOf } from './used-keys.ts';

type Order = Selectable<Tables['orders']>;

/** What is written before anything is signed, so that it can be signed again. */
type Reservation = {
  readonly serial: Buffer;
  readonly tbs: Buffer;
  readonly issued_cert_id: string;
  readonly signing_cert_id: string;
  readonly csr_sha256: Buffer;
  readonly key_thumbprint: Buffer;
};

/** An order in `processing`. Only the statements of this file make one: it is what allows a signature (SEC-8). */
export type ReservedOrder = Pick<Order, 'id' | 'acme_key_id' | 'directory_id' | 'created_at' | 'profile'> &
  Pick<Reservation, 'serial' | 'tbs' | 'issued_cert_id' | 'signing_cert_id'> & {
    /** It leans on an authorization without a challenge. */
    readonly is_auto: boolean;
  };

const RESERVED = sql`
  o.id, o.acme_key_id, o.directory_id, o.created_at, o.profile, o.serial, o.tbs, o.issued_cert_id, o.signing_cert_id,
  exists (select from order_authorizations oa join authorizations a on a.id = oa.authorization_id
           where oa.order_id = o.id and a.auto) as is_auto`;

/** For the worker. */
export const stuckOrders: DueRows = {
  table: 'orders',
  dueAt: 'due_at',
  leaseUntil: 'lease_until',
  attempts: 'attempts',
  where: sql`state = 'processing'`,
};

/** As it was read when it was decided. */
type Reservable = Pick<
  FinalizeRow,
  'id' | 'acme_key_id' | 'directory_id' | 'created_at' | 'profile' | 'authorizations'
>;

type Ask = {
  readonly order: Reservable;
  readonly seen: { readonly directoryVersion: number; readonly now: Date; readonly dueAt: Date };
  readonly reservation: Reservation;
};

const askedRows = broughtRows('asked', {
  order_id: 'uuid',
  acme_key_id: 'uuid',
  directory_id: 'uuid',
  directory_version: 'integer',
  now: 'timestamptz',
  due_at: 'timestamptz',
  serial: 'bytea',
  tbs: 'bytea',
  issued_cert_id: 'uuid',
  signing_cert_id: 'uuid',
  csr_sha256: 'bytea',
  key_thumbprint: 'bytea',
  key_lock: 'integer',
});

/**
 * Moves a ready order to `processing` with what is to be signed. Undefined when anything that was decided by is no longer
 * so: the state, the account, an authorization, the directory's version, the issuer, or the key, which may be on its way
 * to become an account's. It need not survive a crash of Postgres: nothing was signed then, or `complete` was flushed.
 */
export const reserveOrder = gatheredWrites(orEachAlone(reserveOrders, quickly));

/** Of several for one order the first has it. */
async function reserveOrders(db: Db, asks: readonly Ask[], patience: Statement<unknown>) {
  const { rows } = await sql<{ readonly issued_cert_id: string }>`
    with asynchronous as materialized (select set_config('synchronous_commit', 'off', true)),
    patience as materialized (${patience}),
    fit as materialized (
      select asked.*
        from asynchronous
        cross join patience
        cross join ${askedRows(asks.map(askedRow))}
        cross join lateral (
          select order_validations from acme_keys where id = asked.acme_key_id and (state = 'valid') is true limit 1) k
        cross join lateral (
          select signing_cert_id as issuer_id from directories
           where id = asked.directory_id and (deleted_at is null and version = asked.directory_version) is true
           limit 1) d
        cross join lateral (
          select from signing_certs
           where id = d.issuer_id and (id = asked.signing_cert_id and state = 'active' and deleted_at is null) is true
           limit 1) s
       where (select bool_and(a.state = 'valid' and a.expires_at > asked.now
                              and (not a.auto or k.order_validations = 'auto_approve'))
                from order_authorizations oa
                cross join lateral (
                  select state, expires_at, auto from authorizations where id = oa.authorization_id limit 1) a
               where oa.order_id = asked.order_id) is true
         and (select u.why from used_keys u where u.thumbprint = asked.key_thumbprint) is null
         and pg_try_advisory_xact_lock_shared(${KEY_LOCKS}, asked.key_lock))
    update orders o
       set state = 'processing', lease_until = null, attempts = 0,
           (serial, tbs, issued_cert_id, signing_cert_id, csr_sha256, key_thumbprint, due_at) =
             (select fit.serial, fit.tbs, fit.issued_cert_id, fit.signing_cert_id, fit.csr_sha256, fit.key_thumbprint,
                     fit.due_at
                from fit where fit.order_id = o.id limit 1)
     where o.id = any(array(select order_id from fit))
       and (select o.acme_key_id = fit.acme_key_id and o.directory_id = fit.directory_id
                   and o.state = any(${sourcesOf(orderLifecycle, 'processing')}) and o.expires_at > fit.now
              from fit where fit.order_id = o.id limit 1) is true
    returning o.issued_cert_id`.execute(db);
  const reserved = new Set(rows.map(({ issued_cert_id: id }) => id));
  return (ask: Ask) => (reserved.has(ask.reservation.issued_cert_id) ? reservedOrder(ask) : undefined);
}

const askedRow = ({ order, seen, reservation }: Ask) => ({
  ...reservation,
  order_id: order.id,
  acme_key_id: order.acme_key_id,
  directory_id: order.directory_id,
  directory_version: seen.directoryVersion,
  now: seen.now,
  due_at: seen.dueAt,
  key_lock: keyLockOf(reservation.key_thumbprint),
});

function reservedOrder({ order, reservation }: Ask): ReservedOrder {
  const { id, acme_key_id, directory_id, created_at, profile, authorizations } = order;
  const { serial, tbs, issued_cert_id, signing_cert_id } = reservation;
  const is_auto = authorizations.some(({ auto }) => auto);
  return { id, acme_key_id, directory_id, created_at, profile, serial, tbs, issued_cert_id, signing_cert_id, is_auto };
}

/** Why a reserved order cannot be completed, as far as it can be told. */
export type ReservedState = ReservedOrder & {
  readonly issuer_key_ref: string | null;
  /** The directory and the issuer are there, and the issuer is not revoked. */
  readonly is_wanted: boolean;
  readonly key_is_used: boolean;
};

/** Undefined for an order that is not in `processing`. */
export async function findReservedOrder(db: Db, orderId: string): Promise<ReservedState | undefined> {
  const { rows } = await sql<ReservedState>`
    select ${RESERVED}, s.key_ref as issuer_key_ref,
           d.deleted_at is null and s.deleted_at is null and s.state = 'active' as is_wanted,
           exists (select from used_keys u where u.thumbprint = o.key_thumbprint) as key_is_used
      from orders o join directories d on d.id = o.directory_id join signing_certs s on s.id = o.signing_cert_id
     where o.id = ${orderId} and (o.state = 'processing') is true`.execute(db);
  return rows[0];
}

type Reserved = { readonly id: string; readonly serial: Buffer };

/** Ends an order that cannot be completed. False when it is no longer as it was reserved. */
export async function failReservedOrder(db: Db, { id, serial }: Reserved, error: StoredProblem): Promise<boolean> {
  const { rows } = await sql`
    update orders set state = 'invalid', error = ${JSON.stringify(error)}::jsonb,
                      tbs = null, due_at = null, lease_until = null
     where id = ${id} and (state = 'processing' and serial = ${serial}) is true
    returning id`.execute(db);
  return rows.length > 0;
}

/** Back to `ready`: nothing was signed, and the key is gone for good (FIN-12). False as above. */
export async function releaseReservedOrder(db: Db, { id, serial }: Reserved): Promise<boolean> {
  const { rows } = await sql`
    update orders set state = 'ready', serial = null, tbs = null, issued_cert_id = null, signing_cert_id = null,
                      csr_sha256 = null, key_thumbprint = null, due_at = null, lease_until = null, attempts = 0
     where id = ${id} and (state = 'processing' and serial = ${serial}) is true
    returning id`.execute(db);
  return rows.length > 0;
}

/** Has a worker look at once at what could not be signed here. */
export async function hurryReservedOrder(db: Db, { id, serial }: Reserved, now: Date): Promise<void> {
  await sql`
    with asynchronous as materialized (select set_config('synchronous_commit', 'off', true)),
    hurried as (
      update orders set due_at = ${now} from asynchronous
       where id = ${id} and (state = 'processing' and serial = ${serial} and lease_until is null) is true
      returning id)
    select pg_notify('acmery_due', 'order') from hurried`.execute(quickly(db));
}
