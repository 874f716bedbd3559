// Statements on crls: the list of revocations that each CA signs, marked, claimed, replaced and read.
import type { Db, Tx } from './database.ts';
import type { Claim, Claiming } from './due.ts';
import { gatheredReads, gatheredRows } from './gathered.ts';
import { type Statement, sql } from './statement.ts';

/** The task that builds CRLs, as worker/tasks.ts names it. */
const TASK = 'crl';

/** What is there before a CRL is built. */
export type CrlState = {
  /** Null: the key is not here, or no longer. */
  readonly key_ref: string | null;
  readonly is_deleted: boolean;
  /** Of the last CRL, in decimal digits. */
  readonly number: string | null;
  readonly this_update: Date | null;
};

export type NewCrl = {
  readonly signingCertId: string;
  readonly number: bigint;
  /** The CRL that it replaces: nobody may have replaced it meanwhile. */
  readonly seenNumber: string | null;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  readonly der: Buffer;
};

/** When the next one is built: sooner where revocations came while this one was built; never where it is the last one. */
export type NextBuild = { readonly refreshAt: Date | null; readonly soon: Date };

export type CrlVersion = {
  readonly id: string;
  readonly number: string;
  readonly this_update: Date;
  readonly next_update: Date;
};

/**
 * Says that revocations of these CAs are not in their CRLs yet; each is built at `dueAt` or sooner. For after the commit
 * of the revocation, and not durable by itself: nobody queues on one hot row behind a flush to disk, and a mark that a
 * crash takes away is set again by a sweep, which finds the revocation later than the list.
 */
export const markCrls = (db: Db, signingCertIds: readonly string[], now: Date, dueAt: Date): Promise<void> =>
  mark(db, sql`select unnest(${signingCertIds}::uuid[])`, now, dueAt);

/**
 * Marks the CRLs of all CAs whose key is here that have none, one that is not due at any time, or one that may lack a
 * revocation, which was committed up to `lateMs` after the time that it bears.
 */
export const markStaleCrls = (db: Db, now: Date, lateMs: number): Promise<void> =>
  mark(
    db,
    sql`
      select s.id from signing_certs s left join crls c on c.signing_cert_id = s.id
       where s.key_ref is not null and s.der is not null and s.deleted_at is null
         and (c.due_at is null
              or c.dirty_since is null and exists (
                   select from revocations r
                    where r.signing_cert_id = s.id
                      and r.changed_at > c.this_update - ${lateMs} * interval '1 millisecond'))`,
    now,
    now,
  );

async function mark(db: Db, ids: Statement<unknown>, now: Date, dueAt: Date): Promise<void> {
  await sql`
    with asynchronous as materialized (select set_config('synchronous_commit', 'off', true))
    insert into crls (signing_cert_id, dirty_since, due_at)
    select id, ${now}, ${dueAt} from asynchronous, (${ids}) as stale (id) order by id
    on conflict (signing_cert_id) do update
       set dirty_since = coalesce(crls.dirty_since, excluded.dirty_since),
           due_at = least(crls.due_at, excluded.due_at)
    returning pg_notify('acmery_due', ${TASK})`.execute(db);
}

/** Takes what is due under a lease. What is revoked from now on marks it again. */
export async function claimDueCrls(db: Db, { now, leaseUntil, limit }: Claiming): Promise<readonly Claim[]> {
  const { rows } = await sql<Claim>`
    update crls set lease_until = ${leaseUntil}, attempts = attempts + 1, dirty_since = null
     where signing_cert_id = any(array(
             select signing_cert_id from crls
              where due_at <= ${now} and (lease_until is null or lease_until <= ${now})
              order by due_at limit ${limit} for update skip locked))
       and set_config('synchronous_commit', 'off', true) is not null
    returning signing_cert_id as id, attempts as attempt`.execute(db);
  return rows;
}

/** Gives it back, due at another time. Changes nothing when the lease was lost. */
export async function postponeDueCrl(db: Db, { id, attempt }: Claim, dueAt: Date | null): Promise<void> {
  await sql`
    update crls set due_at = ${dueAt}, lease_until = null
     where signing_cert_id = ${id} and attempts = ${attempt}`.execute(db);
}

export async function findCrlState(db: Db, signingCertId: string): Promise<CrlState | undefined> {
  const { rows } = await sql<CrlState>`
    select s.key_ref, s.deleted_at is not null as is_deleted, c.number, c.this_update
      from signing_certs s left join crls c on c.signing_cert_id = s.id
     where s.id = ${signingCertId} and s.der is not null`.execute(db);
  return rows[0];
}

type Chunk = {
  readonly entries: string | null;
  readonly count: number;
  readonly last: Buffer | null;
  readonly latest: Date | null;
};

/**
 * One chunk of the entries, in the order of serial numbers, of certificates that do not end before `endsFrom`, and when the
 * latest of them was revoked; undefined after the last.
 */
export async function readEntries(
  db: Db,
  signingCertId: string,
  { after, endsFrom, limit }: { readonly after: Buffer; readonly endsFrom: Date; readonly limit: number },
): Promise<
  { readonly entries: Buffer; readonly count: number; readonly last: Buffer; readonly latest: Date } | undefined
> {
  const { rows } = await sql<Chunk>`
    with chunk as materialized (
      select serial, entry, revoked_at from revocations
       where signing_cert_id = ${signingCertId} and serial > ${after} and not_after >= ${endsFrom}
       order by serial limit ${limit})
    select encode(string_agg(entry, ''::bytea order by serial), 'base64') as entries, count(*)::int as count,
           (select serial from chunk order by serial desc limit 1) as last, max(revoked_at) as latest
      from chunk`.execute(db);
  const [{ entries = null, count = 0, last = null, latest = null } = {}] = rows;
  if (entries === null || last === null || latest === null) return undefined;
  // A third shorter than the hex that binary columns come in.
  return { entries: Buffer.from(entries, 'base64'), count, last, latest };
}

/** When the last of the revoked certificates ends. */
export async function latestRevokedEnd(db: Db, signingCertId: string): Promise<Date | undefined> {
  const { rows } = await sql<{ readonly end: Date | null }>`
    select max(not_after) as end from revocations where signing_cert_id = ${signingCertId}`.execute(db);
  return rows[0]?.end ?? undefined;
}

/** Replaces the CRL as a whole, and ends the lease. False when it was replaced, or the lease lost, since it was claimed. */
export async function replaceCrl(db: Db, crl: NewCrl, next: NextBuild, claim: Claim | undefined): Promise<boolean> {
  const { rows } = await sql<{ readonly is_dirty: boolean }>`
    with fresh as materialized (select ${crl.der}::bytea as der),
    replaced as (
      update crls
         set number = ${crl.number}, this_update = ${crl.thisUpdate}, next_update = ${crl.nextUpdate},
             der = fresh.der, sha256 = sha256(fresh.der), lease_until = null, attempts = 0,
             due_at = case when dirty_since is null then ${next.refreshAt}::timestamptz else ${next.soon}::timestamptz end
        from fresh
       where signing_cert_id = ${crl.signingCertId} and number is not distinct from ${crl.seenNumber}
         and (${claim?.attempt ?? null}::integer is null or attempts = ${claim?.attempt ?? null})
      returning dirty_since is not null as is_dirty)
    select is_dirty, case when is_dirty then pg_notify('acmery_due', ${TASK})::text end from replaced`.execute(db);
  return rows.length > 0;
}

/** Puts a CRL that was made elsewhere in place of an older one. False where there is none older. */
export async function storeUploadedCrl(tx: Tx, crl: Omit<NewCrl, 'seenNumber'>): Promise<boolean> {
  const { rows } = await sql`
    with fresh as materialized (select ${crl.der}::bytea as der)
    insert into crls (signing_cert_id, uploaded, number, this_update, next_update, der, sha256)
    select ${crl.signingCertId}, true, ${crl.number}, ${crl.thisUpdate}, ${crl.nextUpdate}, der, sha256(der) from fresh
    on conflict (signing_cert_id) do update
       set uploaded = true, number = excluded.number, this_update = excluded.this_update,
           next_update = excluded.next_update, der = excluded.der, sha256 = excluded.sha256
     where crls.number is null or crls.number < excluded.number
    returning signing_cert_id`.execute(tx);
  return rows.length > 0;
}

/** Which CRL there is for a CA, without its bytes. */
export const findCrlVersion = gatheredRows<CrlVersion>(
  (_db, ids) => sql<CrlVersion>`
    select signing_cert_id as id, number, this_update, next_update
      from crls where signing_cert_id = ${ids} and number is not null`,
);

export const crlKey = ({ id, number }: Pick<CrlVersion, 'id' | 'number'>): string => `${id} ${number}`;

/** The bytes of a version, by crlKey; undefined once it was replaced. */
export const findCrlBytes = gatheredReads<Buffer>(async (db, keys) => {
  const parts = keys.map((key) => key.split(' '));
  const column = (at: 0 | 1) => parts.map((part) => part[at] ?? null);
  const { rows } = await sql<{ readonly id: string; readonly number: string; readonly der: Buffer }>`
    select c.signing_cert_id as id, c.number, c.der
      from unnest(${column(0)}::uuid[], ${column(1)}::numeric[]) as wanted (id, number)
      join crls c on c.signing_cert_id = wanted.id and c.number = wanted.number`.execute(db);
  return new Map(rows.map((row) => [crlKey(row), row.der]));
});

export type CrlAge = {
  readonly signing_cert_id: string;
  readonly this_update: Date;
  readonly next_update: Date;
};

/** Of all CAs that still publish: those whose key is here, and those whose CRLs are made elsewhere. */
export async function listCrlAges(db: Db): Promise<readonly CrlAge[]> {
  const { rows } = await sql<CrlAge>`
    select c.signing_cert_id, c.this_update, c.next_update
      from crls c join signing_certs s on s.id = c.signing_cert_id
     where c.number is not null and s.deleted_at is null`.execute(db);
  return rows;
}
