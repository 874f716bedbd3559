// Rows that are due for background work: claimed under a lease, so that what a dead worker had begun is taken up by another.
import type { Db } from './database.ts';
import { type Statement, sql, verbatim } from './statement.ts';
import type { Tables } from './tables.ts';

/** A row under the lease of its claimer; `attempt` tells this claim from later ones. */
export type Claim = { readonly id: string; readonly attempt: number };

/** Where a table keeps what is due, and which of its rows belong to the task. */
export type DueRows = {
  readonly table: keyof Tables;
  readonly dueAt: string;
  readonly leaseUntil: string;
  readonly attempts: string;
  readonly where: Statement<unknown>;
};

export type Claiming = { readonly now: Date; readonly leaseUntil: Date; readonly limit: number };

/** The rows due longest that nobody has under lease. Workers that claim at once get different rows. */
export async function claimDue(db: Db, rows: DueRows, claiming: Claiming): Promise<readonly Claim[]> {
  const { rows: claims } = await claimStatement(rows, claiming).execute(db);
  return claims;
}

/** What claimDue runs, as a part of a statement that reads more; `columns` are returned besides those of a Claim. */
export function claimStatement(
  rows: DueRows,
  { now, leaseUntil, limit }: Claiming,
  columns: readonly string[] = [],
): Statement<Claim> {
  const { table, due, lease, attempts } = columnsOf(rows);
  // Claims need not survive a crash: the row is still due then.
  return sql<Claim>`
    update ${table} set ${lease} = ${leaseUntil}, ${attempts} = ${attempts} + 1
     where id in (select id from ${table}
                   where ${due} <= ${now} and (${lease} is null or ${lease} <= ${now}) and ${rows.where}
                   order by ${due} limit ${limit} for update skip locked)
       and set_config('synchronous_commit', 'off', true) is not null
    returning id, ${attempts} as attempt${verbatim(columns.map((column) => `, ${quoted(column)}`).join(''))}`;
}

/** Gives the row back, due at another time. Changes nothing when the lease was lost. */
export async function postponeDue(db: Db, rows: DueRows, { id, attempt }: Claim, dueAt: Date): Promise<void> {
  const { table, due, lease, attempts } = columnsOf(rows);
  await sql`
    update ${table} set ${due} = ${dueAt}, ${lease} = null
     where id = ${id} and (${attempts} = ${attempt} and ${due} is not null) is true`.execute(db);
}

const columnsOf = ({ table, dueAt, leaseUntil, attempts }: DueRows) => ({
  table: verbatim(quoted(table)),
  due: verbatim(quoted(dueAt)),
  lease: verbatim(quoted(leaseUntil)),
  attempts: verbatim(quoted(attempts)),
});

const quoted = (name: string): string => `"${name}"`;
