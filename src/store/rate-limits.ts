// Statements on rate_limits: token buckets, each one time. A bucket is full at `full_at`; a token taken moves that on by
// what one token takes to come back, and an empty bucket is full in the time of the whole rate.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db } from './database.ts';

/** Buckets of one size. */
export type BucketKind = {
  readonly kind: string;
  /** Of a full bucket. */
  readonly count: number;
  /** In which an empty bucket becomes full. */
  readonly perMs: number;
};

export type Bucket = BucketKind & { readonly subject: string };

/** Takes a token; false where there is none. */
export async function takeToken(db: Db, bucket: Bucket, now: Date): Promise<boolean> {
  const { kind, subject } = bucket;
  const token = tokenOf(bucket);
  const empty = new Date(now.getTime() + bucket.perMs);
  const { numAffectedRows } = await sql`
    insert into rate_limits as bucket (kind, subject, full_at)
    select ${kind}, ${subject}, ${now}::timestamptz + ${token}
     where set_config('synchronous_commit', 'off', true) is not null
    on conflict (kind, subject) do update set full_at = greatest(bucket.full_at, ${now}) + ${token}
     where greatest(bucket.full_at, ${now}) + ${token} <= ${empty}::timestamptz`.execute(db);
  return numAffectedRows === 1n;
}

/** Takes a token where there is one; who finds none is not stopped here. */
export async function drainToken(db: Db, bucket: Bucket, now: Date): Promise<void> {
  const token = tokenOf(bucket);
  const empty = new Date(now.getTime() + bucket.perMs);
  await sql`
    insert into rate_limits as bucket (kind, subject, full_at)
    select ${bucket.kind}, ${bucket.subject}, ${now}::timestamptz + ${token}
     where set_config('synchronous_commit', 'off', true) is not null
    on conflict (kind, subject) do update
       set full_at = least(greatest(bucket.full_at, ${now}) + ${token}, ${empty}::timestamptz)`.execute(db);
}

/** When the next token will be there; undefined when there is one. */
export async function missingTokenUntil(db: Db, bucket: Bucket, now: Date): Promise<Date | undefined> {
  const { kind, subject } = bucket;
  const query = db.selectFrom('rate_limits').select(wholeMilliseconds.as('full_at'));
  const row = await query.where('kind', '=', kind).where('subject', '=', subject).executeTakeFirst();
  const next = row && nextToken(bucket, row.full_at);
  return next !== undefined && next > now ? next : undefined;
}

/** What the subject of a bucket of failures begins with; the name follows. */
export const failuresOf = (acmeKeyId: string): string => `${acmeKeyId} `;

/** Whether there is a token now, for a statement that does nothing without one. */
export const hasToken = (kind: BucketKind, subject: RawBuilder<unknown>, now: Date): RawBuilder<SqlBool> => sql`
  not exists (select from rate_limits
               where kind = ${kind.kind} and subject = ${subject}
                 and full_at + ${tokenOf(kind)} > ${new Date(now.getTime() + kind.perMs)}::timestamptz)`;

export type BucketKey = { readonly kind: string; readonly subject: string };

/** Looks at `limit` buckets after this one, removes those that are full, and says where to go on; undefined at the end. */
export async function removeFullBuckets(
  db: Db,
  after: BucketKey,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<{ readonly changed: number; readonly next: BucketKey | undefined }> {
  const { rows } = await sql<BucketKey & { changed: number; seen: number }>`
    with seen as (
      select kind, subject, ctid as place from rate_limits
       where (kind, subject) > (${after.kind}, ${after.subject}) order by kind, subject limit ${limit}),
    removed as (
      delete from rate_limits
       where ctid = any(array(select place from seen)) and full_at <= ${now}
         and set_config('synchronous_commit', 'off', true) is not null
      returning kind)
    select kind, subject, (select count(*)::int from removed) as changed, (select count(*)::int from seen) as seen
      from seen order by kind desc, subject desc limit 1`.execute(db);
  const [row] = rows;
  if (row === undefined) return { changed: 0, next: undefined };
  const { kind, subject, changed, seen } = row;
  return { changed, next: seen < limit ? undefined : { kind, subject } };
}

/** Rounded up: a Date would cut the microseconds off, and say that a token comes before it does. */
const wholeMilliseconds = sql<Date>`date_trunc('milliseconds', full_at + interval '999 microseconds')`;

/** Rounded down, so that `count` of them are never longer than the whole. */
const tokenMicroseconds = ({ count, perMs }: BucketKind): number => Math.floor((perMs * 1000) / count);
const tokenOf = (bucket: BucketKind) => sql`${tokenMicroseconds(bucket)}::float8 * interval '1 microsecond'`;

const nextToken = (bucket: BucketKind, fullAt: Date): Date =>
  new Date(Math.ceil(fullAt.getTime() + tokenMicroseconds(bucket) / 1000 - bucket.perMs));
