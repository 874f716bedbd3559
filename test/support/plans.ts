// What Postgres does for the statements of the store: the statements themselves, caught as they are sent, and their plans.
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Database, Db } from '../../src/store/database.ts';
import type { Tables } from '../../src/store/tables.ts';

/** Planned for the values at hand, or once for all values, as Postgres does with a prepared statement after some uses. */
export const planModes = ['force_custom_plan', 'force_generic_plan'] as const;
type PlanMode = (typeof planModes)[number];

export type Plan = {
  readonly sql: string;
  /** Kinds of the nodes that read rows of a table, not of a function, and the indexes that they use. A partition may be empty. */
  readonly scans: readonly string[];
  readonly indexes: readonly string[];
  /** Rows that the scans read, those that a filter dropped too. */
  readonly rowsRead: number;
  /** Most rows that a sort was given. */
  readonly rowsSorted: number;
  /** Pages of tables and indexes that were looked at: what an index skips inside shows only here. */
  readonly pages: number;
};

export type Planner = AsyncDisposable & {
  /** The plans of all statements that the work sends. */
  plansOf(mode: PlanMode, work: (db: Db) => Promise<unknown>): Promise<readonly Plan[]>;
};

/** The plans are those of the connections that `database` makes, with their settings. */
export function openPlanner(database: Database, url: string): Planner {
  const sent: CompiledQuery[] = [];
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const log = ({ query }: { readonly query: CompiledQuery }) => void sent.push(query);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), log });
  return {
    async plansOf(mode, work) {
      sent.length = 0;
      await work(db);
      return database.db.connection().execute(async (connection) => {
        const plans: Plan[] = [];
        for (const query of sent.splice(0)) plans.push(await planOf(connection, mode, query));
        return plans;
      });
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}

type Node = {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Node[];
};

type Explained = { readonly 'QUERY PLAN': readonly [{ readonly Plan: Node }] };

async function planOf(db: Db, mode: PlanMode, { sql: statement, parameters }: CompiledQuery): Promise<Plan> {
  const values = parameters.length === 0 ? '' : `(${parameters.map(literal).join(', ')})`;
  await sql.raw(`set plan_cache_mode = ${mode}`).execute(db);
  await sql.raw(`prepare listed as ${statement}`).execute(db);
  try {
    const explain = `explain (analyze, buffers, timing off, format json) execute listed${values}`;
    const { rows } = await sql.raw<Explained>(explain).execute(db);
    const root = rows[0]?.['QUERY PLAN'][0].Plan;
    if (root === undefined) throw new Error('Postgres gave no plan.');
    const nodes = flatten(root);
    const scans = nodes.filter(
      (node) =>
        /Scan$/.test(node['Node Type']) && !/^(CTE|Subquery|Function)/.test(node['Node Type']) && rowsOf(node) > 0,
    );
    return {
      sql: statement,
      scans: scans.map((node) => node['Node Type']),
      indexes: scans.flatMap((node) => node['Index Name'] ?? []),
      rowsRead: scans.reduce((sum, node) => sum + rowsOf(node), 0),
      rowsSorted: Math.max(0, ...nodes.filter((node) => /Sort$/.test(node['Node Type'])).flatMap(sortedBy)),
      pages: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
    };
  } finally {
    await sql.raw('deallocate listed').execute(db);
  }
}

const flatten = (node: Node): readonly Node[] => [node, ...(node.Plans ?? []).flatMap(flatten)];

const rowsOf = (node: Node): number =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
  node['Actual Loops'];

const sortedBy = (node: Node): readonly number[] =>
  (node.Plans ?? []).map((input) => input['Actual Rows'] * input['Actual Loops']);

function literal(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) return pg.escapeLiteral(value.toISOString());
  if (Buffer.isBuffer(value)) return pg.escapeLiteral(byteText(value));
  if (Array.isArray(value)) {
    const items = value.map((item) => JSON.stringify(Buffer.isBuffer(item) ? byteText(item) : item));
    return pg.escapeLiteral(`{${items.join(',')}}`);
  }
  return pg.escapeLiteral(String(value));
}

const byteText = (bytes: Buffer): string => `\\x${bytes.toString('hex')}`;
