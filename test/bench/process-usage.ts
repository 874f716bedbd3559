// Processor time and memory of a process and all that it started, from the process table of Linux.
import { readdirSync, readFileSync } from 'node:fs';

export type Usage = { readonly cpuSeconds: number; readonly rssMb: number };

/** What USER_HZ is everywhere. */
const TICKS_PER_SECOND = 100;
const PAGE_MB = 4_096 / 1e6;

type Row = { readonly parent: number; readonly ticks: number; readonly pages: number };

/** Undefined where there is no /proc. */
export function usageOf(pid: number): Usage | undefined {
  const rows = processTable();
  const root = rows.get(pid);
  if (root === undefined) return undefined;
  const tree = [...rows].filter(([id]) => isBelow(rows, id, pid)).map(([, row]) => row);
  const sum = (value: (row: Row) => number) => tree.reduce((total, row) => total + value(row), 0);
  return { cpuSeconds: sum(({ ticks }) => ticks) / TICKS_PER_SECOND, rssMb: sum(({ pages }) => pages) * PAGE_MB };
}

function isBelow(rows: ReadonlyMap<number, Row>, id: number, root: number): boolean {
  for (let at: number | undefined = id; at !== undefined; at = rows.get(at)?.parent) if (at === root) return true;
  return false;
}

function processTable(): ReadonlyMap<number, Row> {
  const rows = new Map<number, Row>();
  for (const name of folders()) {
    const row = /^\d+$/.test(name) ? rowOf(name) : undefined;
    if (row !== undefined) rows.set(Number(name), row);
  }
  return rows;
}

function folders(): readonly string[] {
  try {
    return readdirSync('/proc');
  } catch {
    return [];
  }
}

/** Of its own and of the children that it has waited for: connections of Postgres come and go. */
function rowOf(name: string): Row | undefined {
  try {
    const text = readFileSync(`/proc/${name}/stat`, 'latin1');
    // The command stands in parentheses and may hold anything.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent = 0] = fields;
    const ticks = fields.slice(11, 15).reduce((total, value) => total + value, 0);
    return { parent, ticks, pages: fields[21] ?? 0 };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
