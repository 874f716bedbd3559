// Statements that remove what was kept long enough: each looks at a bounded number of rows, through an index, and passes
// over those that are locked.
import { type RawBuilder, sql } from 'kysely';
import type { Db } from './database.ts';
import { type AuthorizationEnd, batchOf } from './expiry.ts';
import { firstId } from './first-id.ts';

type Bounds = {
  /** What ended earlier goes. */
  readonly before: Date;
  readonly limit: number;
};

/** An order that is gone. */
export type RemovedOrder = { readonly id: string; readonly state: string; readonly replaces: string | null };

/** Finished orders after this id, in its order, with their links to authorizations. */
export async function removeOrders(
  db: Db,
  afterId: string,
  { before, limit }: Bounds,
): Promise<readonly RemovedOrder[]> {
  // By id, which is the order of creation: what was ordered later cannot have ended before.
  const { rows } = await sql<RemovedOrder>`
    with gone as (
      delete from orders
       where id = any(array(select id from orders
                             where id > ${afterId} and id < ${firstId(before.getTime())}::uuid
                               and state in ('valid', 'invalid') and expires_at < ${before}
                             order by id limit ${limit} for update skip locked))
      returning id, state, replaces),
    links as (
      delete from order_authorizations where order_id = any(array(select id from gone)))
    select id, state, replaces from gone order by id`.execute(db);
  return rows;
}

/** Certificates of these serial numbers are no longer replaced by these orders (ARI-8). */
export async function forgetReplacements(
  db: Db,
  serials: readonly Buffer[],
  orderIds: readonly string[],
): Promise<void> {
  await sql`
    update issued_certs set replaced_by = null
     where serial = any(${serials}::bytea[]) and replaced_by = any(${orderIds}::uuid[])`.execute(db);
}

/** Looks at `limit` authorizations after this one, and removes those that no order has, with their challenges. */
export async function removeAuthorizations(
  db: Db,
  after: AuthorizationEnd,
  { before, limit }: Bounds,
): Promise<{ readonly changed: number; readonly next: AuthorizationEnd | undefined }> {
  const { rows } = await sql<AuthorizationEnd & { readonly changed: number; readonly seen: number }>`
    with seen as (
      select id, expires_at from authorizations
       where (expires_at, id) > (${after.expiresAt}, ${after.id}) and expires_at < ${before}
       order by expires_at, id limit ${limit}),
    unused as (
      select id from authorizations a
       where id = any(array(select id from seen))
         and not exists (select from order_authorizations where authorization_id = a.id)
         for update skip locked),
    tried as (delete from challenges where authorization_id = any(array(select id from unused))),
    changed as (delete from authorizations where id = any(array(select id from unused)) returning id)
    select expires_at as "expiresAt", id, (select count(*)::int from seen) as seen,
           (select count(*)::int from changed) as changed
      from seen order by expires_at desc, id desc limit 1`.execute(db);
  return batchOf(rows[0], limit);
}

/** Every CA that may have issued. */
export async function issuerIds(db: Db): Promise<readonly string[]> {
  const rows = await db.selectFrom('signing_certs').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}

/** Expired certificates of one CA that are not revoked, and their names; how many. */
export const removeCerts = (db: Db, signingCertId: string, bounds: Bounds): Promise<number> =>
  removeExpired(
    db,
    sql`signing_cert_id = ${signingCertId} and revoked_at is null`,
    sql`signing_cert_id, not_after, id`,
    bounds,
  );

/** Expired certificates that are revoked, with their names and revocations; how many. */
export const removeRevokedCerts = (db: Db, bounds: Bounds): Promise<number> =>
  removeExpired(db, sql`revoked_at is not null`, sql`not_after`, bounds);

// By the place of the rows: joined, names and revocations would be scanned where the planner thinks it the shorter way.
async function removeExpired(
  db: Db,
  which: RawBuilder<unknown>,
  inOrderOf: RawBuilder<unknown>,
  { before, limit }: Bounds,
): Promise<number> {
  const { rows } = await sql`
    with gone as (
      delete from issued_certs
       where id = any(array(select id from issued_certs where ${which} and not_after < ${before}
                             order by ${inOrderOf} limit ${limit} for update skip locked))
      returning id, signing_cert_id, serial, subjects),
    names as (
      delete from issued_cert_names
       where ctid = any(array(
         select n.ctid from gone, unnest(gone.subjects) as subject (name),
                lateral (select ctid from issued_cert_names
                          where name = subject.name and issued_cert_id = gone.id offset 0) n))),
    entries as (
      delete from revocations
       where ctid = any(array(
         select r.ctid from gone,
                lateral (select ctid from revocations
                          where signing_cert_id = gone.signing_cert_id and serial = gone.serial offset 0) r)))
    select id from gone`.execute(db);
  return rows.length;
}
