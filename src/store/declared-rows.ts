// Rows of EAB tokens and account keys by the custom resource that declares them.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Db, Tx } from './database.ts';
import { gatheredOn } from './gathered.ts';
import type { Fence, Owner } from './origin.ts';

type Table = 'external_bindings' | 'acme_keys';
type OwnedRow = { readonly origin_namespace: string | null; readonly origin_name: string | null };

/** The row of a custom resource, also one that it left behind; undefined where there is none. */
export const findDeclaredIn = <Row extends OwnedRow>(table: Table, columns: RawBuilder<unknown>) =>
  gatheredOn<Owner, Row | undefined>(async (db, owners) => {
    const [namespaces, names] = [owners.map(({ namespace }) => namespace), owners.map(({ name }) => name)];
    const { rows } = await sql<Row>`
      select declared.*
        from unnest(${namespaces}::text[], ${names}::text[]) as wanted (namespace, object)
       cross join lateral (
         select ${columns} from ${sql.table(table)}
          where origin = 'kubernetes' and origin_namespace = wanted.namespace and origin_name = wanted.object
            and deleted_at is null
          limit 1) as declared -- one look into the index for each, however few rows the planner knows of`.execute(db);
    const found = new Map(rows.map((row) => [`${row.origin_namespace}/${row.origin_name}`, row]));
    return ({ namespace, name }) => found.get(`${namespace}/${name}`);
  });

/** Account keys outlive their deletion, and can be taken over then; tokens do not. */
const isAdoptable: Readonly<Record<Table, RawBuilder<SqlBool>>> = {
  external_bindings: sql`deleted_at is null`,
  acme_keys: sql`true`,
};

/** By its id, whoever made it. */
export const findToAdoptIn =
  <Row>(table: Table, columns: RawBuilder<unknown>) =>
  async (db: Db, id: string): Promise<Row | undefined> => {
    const { rows } = await sql<Row>`
      select ${columns} from ${sql.table(table)} where id = ${id} and (${isAdoptable[table]}) is true`.execute(db);
    return rows[0];
  };

/** Makes it that of another custom resource. Undefined when it is no longer as it was seen. */
export const adoptIn =
  <Row>(table: Table, columns: RawBuilder<unknown>) =>
  async (
    tx: Tx,
    { id, version }: { readonly id: string; readonly version: number },
    owner: Owner,
    fence: Fence,
  ): Promise<Row | undefined> => {
    const { rows } = await sql<Row>`
      update ${sql.table(table)}
         set origin = 'kubernetes', origin_namespace = ${owner.namespace}, origin_name = ${owner.name},
             origin_uid = ${fence.uid}, origin_generation = ${fence.generation}, orphaned_at = null, deleted_at = null,
             version = version + 1
       where id = ${id} and (version = ${version} and ${isAdoptable[table]}) is true
      returning ${columns}`.execute(tx);
    return rows[0];
  };
