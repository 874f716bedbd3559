// Statements of finalize: everything that decides over an order in one read, and the two that reserve and complete it.
import type { Selectable } from 'kysely';
import type { AcmeKeyState } from '../lifecycles/acme-key.ts';
import type { AuthorizationState } from '../lifecycles/authorization.ts';
import type { ChallengeType } from '../lifecycles/challenge.ts';
import { sourcesOf } from '../lifecycles/lifecycle.ts';
import { orderLifecycle } from '../lifecycles/order.ts';
import { askedFor, type OwnAsk } from './acme-orders.ts';
import { type AuditRecord, auditOf } from './audit.ts';
import { columnsOf } from './columns.ts';
import type { Db } from './database.ts';
import type { DueRows } from './due.ts';
import { answersIn, gatheredOn } from './gathered.ts';
import { quickly } from './quick-writes.ts';
import { sql } from './statement.ts';
import type { StoredProblem, Tables } from './tables.ts';
import { keyLock } from './used-keys.ts';

type Order = Selectable<Tables['orders']>;
type SigningCert = Selectable<Tables['signing_certs']>;

/** Whose order it is: nobody else learns that it is there. */
export type OrderKey = { readonly id: string; readonly acme_key_id: string; readonly directory_id: string };

/** An authorization of the order; times are milliseconds. */
export type OrderAuthorizationRow = {
  readonly id: string;
  readonly type: 'dns' | 'ip';
  readonly value: string;
  readonly wildcard: boolean;
  readonly state: AuthorizationState;
  readonly auto: boolean;
  readonly expires_at: number;
  readonly caa_checked_at: number | null;
  /** Of the challenge that validated it; null where there was none. */
  readonly method: ChallengeType | null;
};

export type FinalizeRow = Pick<Order, (typeof ORDER)[number]> & {
  readonly account_state: AcmeKeyState;
  readonly order_validations: 'challenge' | 'auto_approve';
  readonly directory_version: number;
  readonly authorizations: readonly OrderAuthorizationRow[];
  /** The CA cert that the directory issues from. */
  readonly issuer_id: string;
  readonly issuer_name: string;
  readonly issuer_state: SigningCert['state'];
  readonly issuer_deleted: boolean;
  readonly issuer_cert_type: SigningCert['cert_type'];
  readonly issuer_key_availability: SigningCert['key_availability'];
  readonly issuer_key_ref: string | null;
  readonly issuer_not_before: Date | null;
  readonly issuer_not_after: Date | null;
};

const ORDER = [
  'id',
  'acme_key_id',
  'directory_id',
  'created_at',
  'expires_at',
  'not_before',
  'not_after',
  'state',
  'profile',
  'identifiers',
  'replaces',
  'error',
  'issued_cert_id',
  'csr_sha256',
] as const satisfies readonly (keyof Order)[];

const orderColumns = columnsOf('o', ORDER);

/** Undefined where the account has no such order. Many at once are one statement. */
export const findOrderForFinalize = gatheredOn<OwnAsk, FinalizeRow | undefined>(async (db, asks) => {
  const { rows } = await sql<FinalizeRow & { readonly asked: number }>`
    select asked.position::integer as asked, ${orderColumns},
           k.state as account_state, k.order_validations, d.version as directory_version,
           s.id as issuer_id, s.name as issuer_name, s.state as issuer_state,
           s.deleted_at is not null as issuer_deleted, s.cert_type as issuer_cert_type,
           s.key_availability as issuer_key_availability, s.key_ref as issuer_key_ref,
           s.not_before as issuer_not_before, s.not_after as issuer_not_after,
           (select coalesce(json_agg(json_build_object(
                     'id', a.id, 'type', a.type, 'value', a.value, 'wildcard', a.wildcard, 'state', a.state,
                     'auto', a.auto, 'expires_at', extract(epoch from a.expires_at) * 1000,
                     'caa_checked_at', extract(epoch from a.caa_checked_at) * 1000,
                     'method', (select c.type from challenges c
                                 where c.authorization_id = a.id and c.state = 'valid' limit 1))
                   order by oa.position), '[]')
              from order_authorizations oa join authorizations a on a.id = oa.authorization_id
             where oa.order_id = o.id) as authorizations
      from ${askedFor(asks)}
      join orders o on o.id = asked.id and (o.acme_key_id = asked.acme_key_id) is true
      join acme_keys k on k.id = o.acme_key_id
      join directories d on d.id = o.directory_id
      join signing_certs s on s.id = d.signing_cert_id`.execute(db);
  return answersIn(asks, rows);
});

/** What is written before anything is signed, so that it can be signed again. */
export type Reservation = {
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

/**
 * Moves a ready order to `processing` with what is to be signed. Undefined when anything that was decided by is no longer
 * so: the state, the account, an authorization, the directory's version, the issuer, or the key, which may be on its way
 * to become an account's. It need not survive a crash of Postgres: nothing was signed then, or `complete` was flushed.
 */
export async function reserveOrder(
  db: Db,
  order: OrderKey,
  seen: { readonly directoryVersion: number; readonly now: Date; readonly dueAt: Date },
  reservation: Reservation,
): Promise<ReservedOrder | undefined> {
  const { key_thumbprint: thumbprint } = reservation;
  const { rows } = await sql<ReservedOrder>`
    with asynchronous as materialized (select set_config('synchronous_commit', 'off', true))
    update orders o
       set state = 'processing', serial = ${reservation.serial}, tbs = ${reservation.tbs},
           issued_cert_id = ${reservation.issued_cert_id}, signing_cert_id = s.id,
           csr_sha256 = ${reservation.csr_sha256}, key_thumbprint = ${thumbprint},
           due_at = ${seen.dueAt}, lease_until = null, attempts = 0
      from asynchronous, acme_keys k, directories d, signing_certs s
     where o.id = ${order.id}
       and (o.acme_key_id = ${order.acme_key_id} and o.directory_id = ${order.directory_id}
            and o.state = any(${sourcesOf(orderLifecycle, 'processing')}) and o.expires_at > ${seen.now}) is true
       and k.id = o.acme_key_id and (k.state = 'valid') is true
       and d.id = o.directory_id and (d.deleted_at is null and d.version = ${seen.directoryVersion}) is true
       and s.id = d.signing_cert_id
       and (s.id = ${reservation.signing_cert_id} and s.state = 'active' and s.deleted_at is null) is true
       and exists (select from order_authorizations oa where oa.order_id = o.id)
       and not exists (
             select from order_authorizations oa join authorizations a on a.id = oa.authorization_id
              where oa.order_id = o.id
                and (a.state <> 'valid' or a.expires_at <= ${seen.now}
                     or (a.auto and k.order_validations <> 'auto_approve')))
       and not exists (select from used_keys where thumbprint = ${thumbprint})
       and pg_try_advisory_xact_lock_shared(${keyLock(thumbprint)})
    returning ${RESERVED}`.execute(quickly(db));
  return rows[0];
}

export type NewCertificate = {
  readonly orderId: string;
  /** As reserved: what somebody else has reserved since is not completed by this. */
  readonly serial: Buffer;
  readonly signing_cert_id: string;
  readonly der: Buffer;
  readonly not_before: Date;
  readonly not_after: Date;
  /** SAN values, in their order. */
  readonly subjects: readonly string[];
};

/**
 * Makes a processing order valid and stores its certificate. False when the order is no longer as it was reserved, the
 * directory or the issuer is gone, the issuer is revoked, or the key has become that of an account or is blocked.
 */
export async function completeOrder(db: Db, cert: NewCertificate, record: AuditRecord): Promise<boolean> {
  const { rows } = await sql<{ completed: boolean }>`
    with issuer as (
      select id from signing_certs
       where id = ${cert.signing_cert_id} and (state = 'active' and deleted_at is null) is true for key share),
    moved as (
      update orders o set state = 'valid', tbs = null, due_at = null, lease_until = null
       where o.id = ${cert.orderId}
         and (o.state = any(${sourcesOf(orderLifecycle, 'valid')}) and o.serial = ${cert.serial}) is true
         and o.signing_cert_id in (select id from issuer)
         and exists (select from directories d where d.id = o.directory_id and (d.deleted_at is null) is true)
         and not exists (select from used_keys u where u.thumbprint = o.key_thumbprint)
      returning o.id, o.issued_cert_id, o.acme_key_id, o.directory_id, o.signing_cert_id, o.serial, o.key_thumbprint),
    stored as (
      insert into issued_certs (id, order_id, acme_key_id, directory_id, signing_cert_id, serial, key_thumbprint, state,
                                not_before, not_after, subjects, der)
      select issued_cert_id, id, acme_key_id, directory_id, signing_cert_id, serial, key_thumbprint, 'valid',
             ${cert.not_before}::timestamptz, ${cert.not_after}::timestamptz, ${cert.subjects}::text[],
             ${cert.der}::bytea
        from moved),
    named as (
      insert into issued_cert_names (name, issued_cert_id)
      select distinct name, moved.issued_cert_id from moved, unnest(${cert.subjects}::text[]) as name),
    recorded as (${auditOf(sql`moved`, record)})
    select true as completed from moved`.execute(db);
  return rows.length > 0;
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

/** CAA-9: these were looked up again now. */
export async function markCaaChecked(db: Db, authorizationIds: readonly string[], now: Date): Promise<void> {
  await sql`
    with asynchronous as materialized (select set_config('synchronous_commit', 'off', true))
    update authorizations set caa_checked_at = ${now} from asynchronous
     where id = any(${authorizationIds}::uuid[])`.execute(quickly(db));
}
