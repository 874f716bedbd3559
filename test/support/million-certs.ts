// A service that has run for years: a million issued certs and all that goes with them, made in the database itself. What
// would hurt a list that filters is there: ids whose rows lie far from where a walk through another index begins.
import { type RawBuilder, sql } from 'kysely';
import { ensureAuditPartitions } from '../../src/store/audit-partitions.ts';
import type { Db } from '../../src/store/database.ts';
import type { Tables } from '../../src/store/tables.ts';
import { DAY_MS } from './clock.ts';
import { exampleRows, insertRows } from './rows.ts';

export const counts = {
  signing_certs: 5_000,
  directories: 20_000,
  acme_keys: 50_000,
  external_bindings: 60_000,
  orders: 200_000,
  issued_certs: 1_000_000,
  audit: 200_000,
} as const satisfies Partial<Record<keyof Tables, number>>;

type Table = keyof typeof counts;

/** Numbers and names of those that stand out. */
export const notable = {
  /** Half of all certificates, the first half of them under its earlier CA. */
  largeDirectory: 1,
  smallDirectory: 3_000,
  earlierCa: 1,
  laterCa: 2,
  /** Signed little, for many directories. */
  rareCa: 5,
  /** A CA with the half of all CA certs below it. */
  busyParent: 50,
  /** A hundred changes. */
  changedObject: 7,
  /** A tenth of all certificates. */
  busyKey: 1,
  /** A tenth of all certificates, every one of them revoked. */
  revokedKey: 2,
  /** All of its certificates are old. */
  quietKey: 3,
  smallKey: 40_000,
  /** On a tenth of all certificates. */
  hotName: 'hot.corp.example',
  rareName: 'n777777.corp.example',
} as const;

/** Sorts as the number does; the version and variant are those of real ids. */
export const idOf = (number: number): string =>
  `${hex(number).slice(0, 8)}-${hex(number).slice(8)}-7000-8000-${hex(number)}`;
/** Audit records lie in partitions of a month, so their ids have real times. */
export const recordId = (number: number): string => idOf(FIRST_RECORD_MS + RECORD_STEP_MS * number);
const FIRST_RECORD_MS = Date.parse('2026-03-01T00:00:00Z');
const RECORD_STEP_MS = 30_000;
const hex = (number: number) => number.toString(16).padStart(12, '0');
const id = (number: RawBuilder<unknown>) =>
  sql`(lpad(to_hex(${number}), 12, '0') || '70008000' || lpad(to_hex(${number}), 12, '0'))::uuid`;

/** Of certificate or order n. An account has one directory, so the directory follows from it. */
const keyOf = sql`case n % 10
  when 0 then 1 when 1 then 2 when 2 then case when n <= 200000 then 3 else 4 end
  when 3 then 5 + n % 19996 when 4 then 5 + n % 19996
  when 5 then 20001 + n % 10000 when 6 then 20001 + n % 10000
  else 30001 + n % 20000 end`;
const directoryOf = sql`case when key <= 20000 then 1 when key <= 30000 then 2
  else 3 + key % (${sql.lit(counts.directories)} - 2) end`;
const caOf = sql`case
  when n % 1000 = 999 then 5
  when directory = 1 then case when n <= ${sql.lit(counts.issued_certs / 2)} then 1 else 2 end
  when directory = 2 then 2
  when n <= ${sql.lit(0.9 * counts.issued_certs)} then 3 else 4 end`;

type Columns = Readonly<Record<string, RawBuilder<unknown>>>;

/** In an empty database, by a superuser. Takes its time; the statement timeout must be off. */
export async function seedMillionCerts(db: Db, now: Date, { derBytes }: { readonly derBytes: number }): Promise<void> {
  const rows = exampleRows();
  const example = { ...rows, issued_certs: { ...rows.issued_certs, der: Buffer.alloc(derBytes, 0x30) } };
  await insertRows(db, example, tables);
  for (const time of [new Date(FIRST_RECORD_MS), now]) await ensureAuditPartitions(db, time);
  // Nothing of them has to outlive a crash, and no foreign key points at them.
  for (const table of ['issued_certs', 'issued_cert_names'])
    await sql`alter table ${sql.table(table)} set unlogged`.execute(db);
  const before = (days: number) => sql`${new Date(now.getTime() - days * DAY_MS)}::timestamptz`;
  const spread = (table: Table) => sql`n * ${sql.lit(`${(400 * DAY_MS) / counts[table]} ms`)}::interval`;
  const deleted = sql`case when n % 3 = 1 and n > 100 then ${now}::timestamptz end`;
  const columns: Readonly<Record<Table, Columns>> = {
    signing_certs: {
      der: text('certificate'),
      serial: text('serial'),
      name,
      cert_type: sql`case when n % 50 = 0 then 'root' else 'intermediate' end`,
      parent_id: sql`case when n % 50 <> 0 then ${id(sql`case when n % 2 = 0 then 50 else 100 end`)} end`,
      // Certificates of thousands of CAs that nobody can sign for would keep the worker busy.
      key_ref: sql`null`,
      key_due_at: sql`null`,
      deleted_at: deleted,
    },
    directories: {
      name,
      slug: sql`'slug-' || n`,
      signing_cert_id: id(sql`case when n % 2 = 0 then 1 else 1 + n % 100 end`),
      deleted_at: deleted,
    },
    acme_keys: {
      name,
      thumbprint: text('account'),
      directory_id: id(sql`directory`),
      state: sql`case when n % 1000 = 0 then 'deactivated' when n % 10 = 0 then 'revoked' else 'valid' end`,
    },
    external_bindings: {
      name,
      directory_id: id(sql`directory`),
      // The used ones are the older ones, but for a few.
      acme_key_id: sql`case when n <= ${sql.lit(counts.acme_keys)} and n % 5000 <> 0 then ${id(n)} end`,
      used_at: sql`case when n <= ${sql.lit(counts.acme_keys)} and n % 5000 <> 0 then ${now}::timestamptz end`,
      deleted_at: deleted,
    },
    orders: {
      acme_key_id: id(sql`key`),
      directory_id: id(sql`directory`),
      created_at: sql`${before(400)} + ${spread('orders')}`,
      expires_at: sql`${before(393)} + ${spread('orders')}`,
      state: sql`case
        when n > ${sql.lit(counts.orders - 2_000)} then case when n % 3 = 0 then 'ready' else 'pending' end
        when n % 997 = 0 then 'pending'
        when n < 20000 and n % 100 < 10 then 'invalid' else 'valid' end`,
      issued_cert_id: id(sql`5 * n`),
    },
    issued_certs: {
      order_id: id(n),
      acme_key_id: id(sql`key`),
      directory_id: id(sql`directory`),
      signing_cert_id: id(sql`ca`),
      not_before: sql`${before(400)} + ${spread('issued_certs')}`,
      not_after: sql`date_trunc('second', ${before(400)} + ${spread('issued_certs')})
                     + case when n % 3 = 0 then interval '7 days' else interval '90 days' end`,
      state: sql`case when key = 2 or n % 50 = 7 then 'revoked' else 'valid' end`,
      revoked_at: sql`case when key = 2 or n % 50 = 7 then ${now}::timestamptz end`,
      reason: sql`case when key = 2 or n % 50 = 7 then 4 end`,
      serial: sql`decode('01' || md5(n::text), 'hex')`,
      key_thumbprint: sql`decode(md5(n::text), 'hex')`,
      subjects: sql`array[${nameOf}]`,
    },
    audit: {
      id: id(sql`${sql.lit(FIRST_RECORD_MS)} + ${sql.lit(RECORD_STEP_MS)}::bigint * n`),
      object_id: id(sql`case when n % 2000 = 0 then 7 else 1 + n % 5000 end`),
      actor: sql`case when n <= ${sql.lit(counts.audit / 4)} then 'early' when n % 4 = 0 then 'busy' else 'a' || n % 1000 end`,
    },
  };
  await Promise.all(tables.map((table) => fill(db, table, example[table].id, columns[table])));
}

const tables = Object.keys(counts).filter((name): name is Table => Object.hasOwn(counts, name));
const n = sql`n`;
const name = sql`'n' || n % 1000`;
const text = (what: string) => sql`convert_to(${sql.lit(what)} || n, 'utf8')`;
const nameOf = sql`case when key = 1 then ${sql.lit(notable.hotName)} else 'n' || n || '.corp.example' end`;

/** Copies of the example, numbered, with these columns. Indexes are made afterwards, and nothing is checked row by row. */
async function fill(db: Db, table: Table, example: string, columns: Columns): Promise<void> {
  const indexes = await dropIndexes(db, table);
  const half = counts[table] / 2;
  await inParallel(
    [sql`generate_series(1, ${sql.lit(half)})`, sql`generate_series(${sql.lit(half + 1)}, ${sql.lit(2 * half)})`],
    (numbers) => copies(db, table, example, { id: id(n), ...columns }, numbers),
  );
  if (table === 'issued_certs') await nameCerts(db);
  await inParallel(indexes, (index) => buildIndex(db, index));
  await sql`analyze ${sql.table(table)}`.execute(db);
}

async function copies(
  db: Db,
  table: Table,
  example: string,
  columns: Columns,
  numbers: RawBuilder<unknown>,
): Promise<void> {
  const others = await sql<{ name: string }>`
    select attname as name from pg_attribute
     where attrelid = ${table}::regclass and attnum > 0 and not attname = any(${Object.keys(columns)})`.execute(db);
  const all = [
    ...Object.entries(columns),
    ...others.rows.map(({ name: other }) => [other, sql`example.${sql.ref(other)}`] as const),
  ];
  const key = table === 'orders' || table === 'issued_certs' ? keyOf : n;
  await withoutChecks(
    db,
    sql`
      insert into ${sql.table(table)} (${sql.join(all.map(([column]) => sql.ref(column)))})
      select ${sql.join(all.map(([, value]) => value))}
        from (select n, key, directory, ${caOf} as ca
                from (select n, key, ${directoryOf} as directory from (select n, ${key} as key from ${numbers} n) a) b) c,
             ${sql.table(table)} example
       where example.id = ${example}`,
  );
}

const nameCerts = (db: Db) =>
  withoutChecks(
    db,
    sql`
      insert into issued_cert_names
      select ${nameOf}, ${id(n)} from (select n, ${keyOf} as key from generate_series(1, ${sql.lit(counts.issued_certs)}) n) a
       order by 1, 2`,
  );

/** Without foreign keys: each would be looked up for each row. */
const withoutChecks = (db: Db, statement: RawBuilder<unknown>): Promise<unknown> =>
  db.transaction().execute(async (tx) => {
    await sql`select set_config('session_replication_role', 'replica', true)`.execute(tx);
    return statement.execute(tx);
  });

async function dropIndexes(db: Db, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string; definition: string }>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index i
     where indrelid = ${table}::regclass and not exists (select from pg_constraint where conindid = i.indexrelid)`.execute(
    db,
  );
  for (const { name: index } of rows) await sql`drop index ${sql.ref(index)}`.execute(db);
  // Of a partitioned table Postgres gives it as that of the table without its partitions.
  return rows.map(({ definition }) => definition.replace(' ON ONLY ', ' ON '));
}

const buildIndex = (db: Db, definition: string): Promise<unknown> =>
  db.transaction().execute(async (tx) => {
    await sql`select set_config('maintenance_work_mem', '256MB', true), set_config('max_parallel_maintenance_workers', '0', true)`.execute(
      tx,
    );
    return sql.raw(definition).execute(tx);
  });

/** Two at a time: as many as the smallest machine has cores. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all([worker(), worker()]);
}
