// Rows enough for the planner to care: half of them belong to the example's parents, and those are the older half.
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../src/store/database.ts';
import { now, type Rows } from './rows.ts';

/** A time-ordered id, as the real ones are. */
export const idOf = (n: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(lpad(to_hex(1779019200000 + 1000 * ${n}), 12, '0') || '70008000' || left(md5((${n})::text), 12))::uuid`;

export async function seedLists(db: Db, rows: Rows): Promise<void> {
  const half = (count: number, id: string, table: string): RawBuilder<unknown> =>
    sql`case when n <= ${sql.lit(count / 2)} then ${id}::uuid else ${anyOf(table)} end`;
  const [ca, directory, account] = [rows.signing_certs.id, rows.directories.id, rows.acme_keys.id];
  const statements = [
    copies('signing_certs', 400, {
      der: bytes,
      serial: bytes,
      parent_id: sql`${ca}::uuid`,
      deleted_at: sql`case when n % 2 = 0 then now() end`,
      key_due_at: sql`case when n % 100 = 0 then now() end`,
    }),
    copies('directories', 400, { name, slug: name, signing_cert_id: half(400, ca, 'signing_certs') }),
    copies('acme_keys', 600, {
      name,
      thumbprint: bytes,
      directory_id: half(600, directory, 'directories'),
      state: sql`case when n % 3 = 0 then 'revoked' else 'valid' end`,
    }),
    copies('external_bindings', 600, { name, directory_id: half(600, directory, 'directories') }),
    sql`update external_bindings b set acme_key_id = a.id, used_at = now() from acme_keys a where a.id = b.id and a.state = 'revoked'`,
    copies('orders', 3000, {
      acme_key_id: half(3000, account, 'acme_keys'),
      directory_id: half(3000, directory, 'directories'),
      state: sql`case when n % 4 = 0 then 'invalid' else 'ready' end`,
    }),
    copies('authorizations', 3000, {
      acme_key_id: half(3000, account, 'acme_keys'),
      value: name,
      expires_at: sql`${now}::timestamptz + n * interval '1 hour'`,
    }),
    copies('issued_certs', 3000, {
      serial: bytes,
      not_after: sql`${now}::timestamptz + n * interval '1 hour'`,
      acme_key_id: half(3000, account, 'acme_keys'),
      directory_id: half(3000, directory, 'directories'),
      signing_cert_id: half(3000, ca, 'signing_certs'),
      state: sql`case when n % 5 = 0 then 'revoked' else 'valid' end`,
      revoked_at: sql`case when n % 5 = 0 then now() end`,
      reason: sql`case when n % 5 = 0 then 1 end`,
    }),
    copies('audit', 2000, {
      actor: sql`case when n <= 1000 then 'worker' else 'a' || n end`,
      object_id: sql`case when n <= 1000 then ${account}::uuid else gen_random_uuid() end`,
    }),
    sql`
      insert into issued_cert_names
      select case when n <= 1500 then 'shop.corp.example' else 'n' || n end, ${idOf(sql`n`)} from generate_series(1, 3000) n`,
    sql`analyze`,
  ];
  for (const statement of statements) await statement.execute(db);
}

const name = sql`'n' || n`;
const bytes = sql`'\\x' || md5(n::text)`;
const anyOf = (table: string) => sql`(select id from ${sql.table(table)} order by id offset n % 20 limit 1)`;

/** Copies of a table's one row with a new id, and with other columns as said for number n. */
function copies(
  table: string,
  count: number,
  columns: Readonly<Record<string, RawBuilder<unknown>>>,
): RawBuilder<unknown> {
  const changes = Object.entries({ id: idOf(sql`n`), ...columns }).map(
    ([column, value]) => sql`${sql.lit(column)}, ${value}`,
  );
  return sql`
    insert into ${sql.table(table)}
    select (jsonb_populate_record(example, jsonb_build_object(${sql.join(changes)}))).*
      from ${sql.table(table)} example, generate_series(1, ${sql.lit(count)}) n
     where example.id = (select id from ${sql.table(table)} limit 1)`;
}
