// Statements on rate_limits: token buckets, each one time. A bucket is full at `full_at`; a token taken moves that on by
// what one token takes to come back, and an empty bucket is full in the time of the whole rate.
import type { SqlBool } from 'kysely';
import type { Db } from './database.ts';
import { gatheredWrites } from './gathered.ts';
import { quickly } from './quick-writes.ts';
import { type Statement, sql } from './statement.ts';

/** Buckets of one size. */
export type BucketKind = {
  readonly kind: string;
  /** Of a full bucket. */
  readonly count: number;
  /** In which an empty bucket becomes full. */
  readonly perMs: number;
};

export type Bucket = BucketKind & { readonly subject: string };

/** Takes a token; false where there is none. Many at once are one statement. */
export const takeToken = (db: Db, bucket: Bucket, now: Date): Promise<boolean> => takeTokens(db, { bucket, now });

type Taking = { readonly bucket: Bucket; readonly now: Date };

const takeTokens = gatheredWrites<Taking, boolean>(async (db, asks) => {
  const taken = new Set<Taking>();
  for (const ofKind of groupsBy(asks, ({ kind }) => kind)) {
    const groups = groupsBy(ofKind, ({ subject }) => subject);
    const served = await takeForAll(db, ofKind[0].bucket, groups);
    for (const group of groups) {
      const all = served.has(group[0].bucket.subject) ? group : await takeOneByOne(db, group);
      for (const ask of all) taken.add(ask);
    }
  }
  return (ask) => taken.has(ask);
});

type OneOrMore<Item> = readonly [Item, ...Item[]];

function groupsBy(asks: readonly Taking[], keyOf: (bucket: Bucket) => string): readonly OneOrMore<Taking>[] {
  const groups = new Map<string, [Taking, ...Taking[]]>();
  for (const ask of asks) {
    const key = keyOf(ask.bucket);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [ask]);
    else group.push(ask);
  }
  return [...groups.values()];
}

/** Those who find a token in a bucket that has not enough for all of them. */
async function takeOneByOne(db: Db, group: OneOrMore<Taking>): Promise<readonly Taking[]> {
  if (group.length === 1) return [];
  for (const [index, ask] of group.entries())
    if ((await takeForAll(db, ask.bucket, [[ask]])).size === 0) return group.slice(0, index);
  return group;
}

/** Each group is of one bucket. The subjects whose buckets had enough for all: of no other one anything is taken. */
async function takeForAll(
  db: Db,
  bucket: BucketKind,
  groups: readonly OneOrMore<Taking>[],
): Promise<ReadonlySet<string>> {
  const now = new Date(Math.max(...groups.flat().map((ask) => ask.now.getTime())));
  const token = tokenOf(bucket);
  const empty = new Date(now.getTime() + bucket.perMs);
  const { rows } = await sql<{ readonly subject: string }>`
    with asked as (
      select subject, tokens * ${token} as taken
        from unnest(${groups.map(([first]) => first.bucket.subject)}::text[],
                    ${groups.map((group) => group.length)}::int[]) as asked (subject, tokens)
       order by subject) -- of two statements at once neither waits for the other
    insert into rate_limits as bucket (kind, subject, full_at)
    select ${bucket.kind}, subject, ${now}::timestamptz + taken from asked
     where set_config('synchronous_commit', 'off', true) is not null
       and ${now}::timestamptz + taken <= ${empty}::timestamptz
    on conflict (kind, subject) do update
       set full_at = greatest(bucket.full_at, ${now})
                   + (select taken from asked where asked.subject = excluded.subject)
     where greatest(bucket.full_at, ${now}) + (select taken from asked where asked.subject = excluded.subject)
        <= ${empty}::timestamptz
    returning subject`.execute(quickly(db));
  return new Set(rows.map(({ subject }) => subject));
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
       set full_at = least(greatest(bucket.full_at, ${now}) + ${token}, ${empty}::timestamptz)`.execute(quickly(db));
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

/** Whether another validation of what the authorization `a` is of may fail now. */
export const mayFail = (failures: BucketKind | undefined, now: Date): Statement<SqlBool> =>
  failures === undefined
    ? sql`true`
    : sql`
  not exists (select from rate_limits
               where kind = ${failures.kind} and subject = a.acme_key_id || ${failuresOf('')} || a.value
                 and full_at + ${tokenOf(failures)} > ${new Date(now.getTime() + failures.perMs)}::timestamptz)`;

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
