// The statement that completes orders: one for all that are signed at once, so that they are flushed to the disk together.
import { sourcesOf } from '../lifecycles/lifecycle.ts';
import { orderLifecycle } from '../lifecycles/order.ts';
import { type AuditRecord, auditOfEach } from './audit.ts';
import { broughtRows } from './brought-rows.ts';
import type { Db } from './database.ts';
import { gatheredWrites, orEachAlone } from './gathered.ts';
import { type Statement, sql } from './statement.ts';

export type NewCertificate = {
  /** As reserved. */
  readonly id: string;
  readonly order_id: string;
  /** As reserved: what somebody else has reserved since is not completed by this. */
  readonly serial: Buffer;
  readonly signing_cert_id: string;
  readonly der: Buffer;
  readonly not_before: Date;
  readonly not_after: Date;
  /** SAN values, in their order. */
  readonly subjects: readonly string[];
};

type Ask = { readonly cert: NewCertificate; readonly record: AuditRecord };

const askedRows = broughtRows('asked', {
  order_id: 'uuid',
  serial: 'bytea',
  signing_cert_id: 'uuid',
  der: 'bytea',
  not_before: 'timestamptz',
  not_after: 'timestamptz',
  subjects: 'text[]',
});

/**
 * Makes a processing order valid and stores its certificate. False when the order is no longer as it was reserved, the
 * directory or the issuer is gone, the issuer is revoked, or the key has become that of an account or is blocked.
 */
export const completeOrder = gatheredWrites(orEachAlone(completeOrders));

async function completeOrders(db: Db, asks: readonly Ask[], patience: Statement<unknown>) {
  const { rows } = await sql<{ readonly id: string }>`
    with patience as materialized (${patience}),
    asked as materialized (select asked.* from patience cross join ${askedRows(asks.map(({ cert }) => cert))}),
    issuer as materialized (
      select s.id
        from (select distinct signing_cert_id as id from asked order by id) named
        cross join lateral (
          select id from signing_certs
           where id = named.id and (state = 'active' and deleted_at is null) is true limit 1 for key share) s),
    moved as (
      update orders o set state = 'valid', tbs = null, due_at = null, lease_until = null
       where o.id = any(array(select order_id from asked))
         and (o.state = any(${sourcesOf(orderLifecycle, 'valid')})
              and o.serial = any(array(select serial from asked where asked.order_id = o.id))
              and o.signing_cert_id = any(array(select id from issuer))) is true
         and (select d.deleted_at is null from directories d where d.id = o.directory_id) is true
         and (select u.why from used_keys u where u.thumbprint = o.key_thumbprint) is null
      returning o.issued_cert_id as id, o.id as order_id, o.acme_key_id, o.directory_id, o.signing_cert_id, o.serial,
                o.key_thumbprint),
    stored as (
      insert into issued_certs (id, order_id, acme_key_id, directory_id, signing_cert_id, serial, key_thumbprint, state,
                                not_before, not_after, subjects, der)
      select moved.*, 'valid', asked.not_before, asked.not_after, asked.subjects, asked.der
        from moved join asked on asked.order_id = moved.order_id and asked.serial = moved.serial),
    named as (
      insert into issued_cert_names (name, issued_cert_id)
      select distinct name, moved.id
        from moved
        join asked on asked.order_id = moved.order_id and asked.serial = moved.serial,
             unnest(asked.subjects) as name),
    recorded as (${auditOfEach(
      sql`moved`,
      asks.map(({ cert, record }) => ({ ...record, of: cert.id })),
    )})
    select id from moved`.execute(db);
  const completed = new Set(rows.map(({ id }) => id));
  return ({ cert }: Ask) => completed.has(cert.id);
}
