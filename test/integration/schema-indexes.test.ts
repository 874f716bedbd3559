// Indexes: every foreign key has one, and every list and claim walks one in its own order, without a sort.
import { type RawBuilder, sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureAuditPartitions } from '../../src/store/audit-partitions.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { idOf, seedLists } from '../support/listed-rows.ts';
import { exampleRows, insertRows, now } from '../support/rows.ts';

const rows = exampleRows();
const [ca, directory, account] = [rows.signing_certs.id, rows.directories.id, rows.acme_keys.id];

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await ensureAuditPartitions(database.db.db, now);
  await insertRows(database.db.db, rows);
  await seedLists(database.db.db, rows);
});
afterAll(() => database[Symbol.asyncDispose]());

async function read<Row>(query: RawBuilder<Row>): Promise<readonly Row[]> {
  return (await query.execute(database.db.db)).rows;
}

test('every foreign key has an index that begins with its columns', async () => {
  const bare = await read(sql`
    select conrelid::regclass::text || '.' || conname as key from pg_constraint k
     where contype = 'f' and conparentid = 0 and not exists (
       select from pg_index i
        where i.indrelid = k.conrelid and i.indpred is null
          and (i.indkey::smallint[])[0:cardinality(k.conkey) - 1] @> k.conkey)`);
  expect(bare).toEqual([]);
});

test('no foreign key points at a table that is to be partitioned and pruned', async () => {
  const pointing = await read(sql`
    select conname from pg_constraint where contype = 'f' and confrelid in ('orders'::regclass, 'issued_certs'::regclass)`);
  expect(pointing).toEqual([]);
});

test('every unique index of such a table has its id, but for the one that 0003 says what becomes of', async () => {
  const unique = await read(sql<{ name: string }>`
    select i.indexrelid::regclass::text as name from pg_index i
      join pg_attribute a on a.attrelid = i.indrelid and a.attname = 'id'
     where i.indisunique and i.indrelid in ('orders'::regclass, 'issued_certs'::regclass)
       and not (a.attnum = any(i.indkey::smallint[]))`);
  expect(unique).toEqual([{ name: 'issued_certs_serial_key' }]);
});

type Order = readonly ('name' | 'not_after' | 'id' | 'issued_cert_id')[];
type List = {
  readonly index: string;
  readonly table: string;
  /** What is the same in every row of the list, in the order of the index. */
  readonly same: Readonly<Record<string, string>>;
  /** The columns that it is sorted and paged by. */
  readonly order: Order;
  /** What the index leaves out. */
  readonly where: RawBuilder<unknown>;
};

const live = sql`deleted_at is null`;
const unused = sql`acme_key_id is null and deleted_at is null`;
const revoked = sql`revoked_at is not null`;
const unrevoked = sql`revoked_at is null`;
const ofCa = { signing_cert_id: ca };
const ofDirectory = { directory_id: directory };
const ofAccount = { acme_key_id: account };

const list = (index: string, same: List['same'], order: Order, where = sql`true`): List => {
  const table = tables.find((name) => index.startsWith(`${name}_`)) ?? '';
  return { index, table, same, order, where };
};
const tables = [
  'signing_certs',
  'directories',
  'external_bindings',
  'acme_keys',
  'orders',
  'issued_certs',
  'issued_cert_names',
  'audit',
];

const issuedCertLists = (by: string, same: List['same']): readonly List[] => [
  list(`issued_certs_list_${by}_idx`, same, ['id']),
  list(`issued_certs_list_${by}_revoked_idx`, same, ['id'], revoked),
  list(`issued_certs_list_${by}_expiry_idx`, same, ['not_after', 'id'], unrevoked),
  list(`issued_certs_list_${by}_revoked_expiry_idx`, same, ['not_after', 'id'], revoked),
];

const lists: readonly List[] = [
  list('signing_certs_list_idx', {}, ['id'], live),
  list('signing_certs_list_cert_type_idx', { cert_type: 'intermediate' }, ['id'], live),
  list('signing_certs_list_parent_idx', { parent_id: ca }, ['id'], live),
  list('directories_list_idx', {}, ['id'], live),
  list('directories_list_name_idx', {}, ['name', 'id'], live),
  list('directories_list_signing_cert_idx', ofCa, ['id'], live),
  list('directories_list_signing_cert_name_idx', ofCa, ['name', 'id'], live),
  list('external_bindings_list_idx', ofDirectory, ['id'], live),
  list('external_bindings_list_name_idx', ofDirectory, ['name', 'id'], live),
  list('external_bindings_list_unused_idx', ofDirectory, ['id'], unused),
  list('external_bindings_list_unused_name_idx', ofDirectory, ['name', 'id'], unused),
  list('acme_keys_list_idx', ofDirectory, ['id']),
  list('acme_keys_list_name_idx', ofDirectory, ['name', 'id']),
  list('acme_keys_list_state_idx', { ...ofDirectory, state: 'revoked' }, ['id']),
  list('acme_keys_list_state_name_idx', { ...ofDirectory, state: 'revoked' }, ['name', 'id']),
  list('orders_list_acme_key_idx', ofAccount, ['id']),
  list('orders_list_acme_key_state_idx', { ...ofAccount, state: 'invalid' }, ['id']),
  list('orders_list_directory_idx', ofDirectory, ['id']),
  list('orders_list_directory_state_idx', { ...ofDirectory, state: 'invalid' }, ['id']),
  ...issuedCertLists('acme_key', ofAccount),
  ...issuedCertLists('directory', ofDirectory),
  ...issuedCertLists('signing_cert', ofCa),
  ...issuedCertLists('acme_key_signing_cert', { ...ofAccount, ...ofCa }),
  ...issuedCertLists('directory_signing_cert', { ...ofDirectory, ...ofCa }),
  list('issued_cert_names_pkey', { name: 'shop.corp.example' }, ['issued_cert_id']),
  list('audit_pkey', {}, ['id']),
  list('audit_list_object_idx', { object_id: account }, ['id']),
  list('audit_list_actor_idx', { actor: 'worker' }, ['id']),
];

const pages = lists.flatMap((each) => [
  { ...each, page: 'first', direction: 'asc' },
  { ...each, page: 'first', direction: 'desc' },
  { ...each, page: 'next', direction: 'asc' },
  { ...each, page: 'next', direction: 'desc' },
]);

test.each(pages)('$index gives the $page page, $direction, and no row more', async (page) => {
  const found = await plan(pageOf(page), { enable_sort: 'off', enable_incremental_sort: 'off' });
  expect(found.indexes).toEqual([page.index]);
  const plain = ['Limit', 'Index Scan', 'Index Only Scan', 'Merge Append', 'Append'];
  expect(found.nodes.filter((node) => !plain.includes(node))).toEqual([]);
  expect(found.removed).toBe(0);
});

const cursors = {
  name: sql`'n300'`,
  not_after: sql`${now}::timestamptz + interval '300 hours'`,
  id: sql`${idOf(sql`300`)}`,
  issued_cert_id: sql`${idOf(sql`300`)}`,
};

/** The range of the whole key of its index. */
function pageOf({ table, same, order, where, page, direction }: (typeof pages)[number]): RawBuilder<unknown> {
  const [columns, values] = [Object.keys(same), Object.values(same)];
  const key = [...columns, ...order];
  const within = sql`(${refs(columns)}) between (${sql.join(values)}) and (${sql.join(values)})`;
  const after = sql`(${refs(key)}) ${sql.raw(direction === 'asc' ? '>' : '<')} (${sql.join([...values, ...order.map((column) => cursors[column])])})`;
  return sql`
    select * from ${sql.table(table)}
     where ${where} ${columns.length > 0 ? sql`and ${within}` : sql``} ${page === 'next' ? sql`and ${after}` : sql``}
     order by ${sql.join(key.map((column) => sql`${sql.ref(column)} ${sql.raw(direction)}`))} limit 51`;
}

const refs = (columns: readonly string[]) => sql.join(columns.map((column) => sql.ref(column)));

test.each([
  ['orders', 'orders_due_idx', sql`state = 'processing' and due_at <= now()`, 'due_at'],
  ['challenges', 'challenges_due_idx', sql`state = 'processing' and due_at <= now()`, 'due_at'],
  ['crls', 'crls_due_idx', sql`due_at <= now()`, 'due_at'],
  ['ocsp_signers', 'ocsp_signers_due_idx', sql`due_at <= now()`, 'due_at'],
  ['signing_certs', 'signing_certs_key_due_idx', sql`key_due_at <= now()`, 'key_due_at'],
  ['orders', 'orders_open_expires_at_idx', sql`state in ('pending', 'ready') and expires_at <= now()`, 'expires_at'],
  ['authorizations', 'authorizations_expires_at_idx', sql`expires_at <= now()`, 'expires_at'],
  [
    'issued_certs',
    'issued_certs_revoked_not_after_idx',
    sql`revoked_at is not null and not_after <= now()`,
    'not_after',
  ],
  [
    'issued_certs',
    'issued_certs_list_signing_cert_expiry_idx',
    sql`signing_cert_id = ${ca} and revoked_at is null and not_after <= now()`,
    'not_after',
  ],
])('rows of %s that are due are found by %s', async (table, index, where, column) => {
  const found = await plan(
    sql`select ${sql.ref(column)} from ${sql.table(table)} where ${where} order by ${sql.ref(column)} limit 20`,
  );
  expect(found.indexes).toEqual([index]);
  expect(found.nodes).not.toContain('Sort');
});

test('an authorization to reuse is found from its longest-lived on', async () => {
  const found = await plan(sql`
    select id from authorizations where acme_key_id = ${account} and type = 'dns' and value = 'n300' and wildcard = false
       and state = 'valid' and expires_at > ${now} order by expires_at desc limit 1`);
  expect(found).toMatchObject({ nodes: ['Limit', 'Index Scan'], indexes: ['authorizations_reuse_idx'] });
});

test('the users of a CA are found without a scan', async () => {
  const inUse = sql`
    select exists (select from signing_certs where parent_id = ${ca} and deleted_at is null),
           exists (select from directories where signing_cert_id = ${ca} and deleted_at is null),
           exists (select from orders where signing_cert_id = ${ca} and state = 'processing'),
           exists (select from issued_certs where signing_cert_id = ${ca} and revoked_at is null and not_after > now())`;
  expect((await plan(inUse)).nodes).not.toContain('Seq Scan');
});

test.each([
  ['authorizations', sql`state = 'valid', validated_at = ${now}`],
  ['acme_keys', sql`used_on = '2026-05-18'`],
  ['crls', sql`dirty_since = ${now}, lease_until = ${now}`],
  ['challenges', sql`lease_until = ${now}, attempts = attempts + 1`],
  ['rate_limits', sql`full_at = full_at + interval '1 s'`],
])('what changes often in %s changes no index', async (table, changes) => {
  const tx = await database.db.db.startTransaction().execute();
  await sql`update ${sql.table(table)} set ${changes} where ctid = (select max(ctid) from ${sql.table(table)})`.execute(
    tx,
  );
  const { rows: counted } = await sql`
    select pg_stat_get_xact_tuples_updated(${table}::regclass) as updated,
           pg_stat_get_xact_tuples_hot_updated(${table}::regclass) as hot`.execute(tx);
  await tx.rollback().execute();
  expect(counted).toEqual([{ updated: 1, hot: 1 }]);
});

type Node = {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Node[];
};
type Plan = { readonly nodes: readonly string[]; readonly indexes: readonly string[]; readonly removed: number };

/** How a query ran where a sequential scan is as dear as in a large table; the index of a partition by its parent's name. */
async function plan(query: RawBuilder<unknown>, settings: Readonly<Record<string, string>> = {}): Promise<Plan> {
  const parents = await read(sql<{ child: string; parent: string }>`
    select inhrelid::regclass::text as child, inhparent::regclass::text as parent from pg_inherits`);
  const parentOf = new Map(parents.map(({ child, parent }) => [child, parent]));
  const planned = await database.db.db.transaction().execute(async (tx) => {
    for (const [name, value] of Object.entries({ enable_seqscan: 'off', enable_bitmapscan: 'off', ...settings })) {
      await sql`select set_config(${name}, ${value}, true)`.execute(tx);
    }
    type Explained = { 'QUERY PLAN': readonly [{ Plan: Node }] };
    return sql<Explained>`explain (analyze, format json, timing off) ${query}`.execute(tx);
  });
  const nodes = planned.rows.flatMap((row) => flatten(row['QUERY PLAN'][0].Plan));
  const indexes = nodes.flatMap(({ 'Index Name': name }) => (name === undefined ? [] : [parentOf.get(name) ?? name]));
  return {
    nodes: nodes.map((node) => node['Node Type']),
    indexes: [...new Set(indexes)],
    removed: nodes.reduce((sum, node) => sum + (node['Rows Removed by Filter'] ?? 0), 0),
  };
}

const flatten = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(flatten)];
