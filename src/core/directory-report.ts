// Directories as the status page shows them: their rules, how much there is in them, and their generations of CA certs.
import { type DirectoryRow, findDirectory, listDirectoryRows } from '../store/directories.ts';
import { countInDirectories, type DirectoryCounts } from '../store/directory-counts.ts';
import { listSlugsOfDirectory } from '../store/directory-slugs.ts';
import type { Ca } from './ca.ts';
import { type DirectoryView, directoryView } from './directories.ts';
import { newUuid } from './ids.ts';
import { found } from './object-kinds.ts';
import { type NameOrId, type Page, type PageRequest, pageOf } from './paging.ts';

/** Each is counted to MOST_COUNTED and no further. */
type ShownCounts = {
  readonly accounts: number;
  readonly unusedTokens: number;
  readonly openOrders: number;
  /** Of the orders of the last 24 hours. */
  readonly issuedLately: number;
  readonly failedLately: number;
  readonly liveCerts: number;
};

export type ShownDirectory = DirectoryView & {
  readonly counts: ShownCounts;
  readonly createdAt: Date;
  readonly declaredBy: string | undefined;
  readonly rolloverAt: Date | undefined;
  /** Ids of CA certs that it issued from before. */
  readonly formerIssuers: readonly string[];
};

export type DirectoryReport = ShownDirectory & {
  /** Former slugs, which lead here too. */
  readonly aliases: readonly string[];
};

/** What is counted as this many is this many or more. */
export const MOST_COUNTED = 1_000;
const LATELY_MS = 86_400_000;

/** One page; two statements. Throws `unknown_cursor`. */
export async function listShownDirectories(ca: Ca, page: PageRequest<NameOrId>): Promise<Page<ShownDirectory>> {
  const { items, hasMore } = pageOf(await listDirectoryRows(ca.database.db, {}, page), (row) => row);
  return { items: await withCounts(ca, items), hasMore };
}

/** One of them by its uuid. Throws `not_found`. */
export async function getDirectoryReport(ca: Ca, id: string): Promise<DirectoryReport> {
  const { db } = ca.database;
  const row = found('directory', id, await findDirectory(db, id));
  const [[shown], slugs] = await Promise.all([withCounts(ca, [row]), listSlugsOfDirectory(db, id)]);
  return { ...found('directory', id, shown), aliases: slugs.filter((slug) => slug !== row.slug) };
}

async function withCounts(ca: Ca, rows: readonly DirectoryRow[]): Promise<readonly ShownDirectory[]> {
  const now = ca.clock.now();
  const since = newUuid(new Date(now.getTime() - LATELY_MS), Buffer.alloc(10));
  const ids = rows.map(({ id }) => id);
  const bounds = { now, since, most: MOST_COUNTED };
  const counted = rows.length === 0 ? [] : await countInDirectories(ca.database.db, ids, bounds);
  const byId = new Map(counted.map((counts) => [counts.id, counts]));
  return rows.map((row) => ({
    ...directoryView(ca, row),
    counts: shownCounts(byId.get(row.id)),
    createdAt: row.created_at,
    declaredBy: row.origin === 'kubernetes' ? `${row.origin_namespace}/${row.origin_name}` : undefined,
    rolloverAt: row.rollover_at ?? undefined,
    formerIssuers: row.former_signing_certs.filter((id) => id !== row.signing_cert_id),
  }));
}

const shownCounts = (counts: DirectoryCounts | undefined): ShownCounts => ({
  accounts: counts?.accounts ?? 0,
  unusedTokens: counts?.unused_tokens ?? 0,
  // Each of the states has a bound of its own.
  openOrders: Math.min(counts?.open_orders ?? 0, MOST_COUNTED),
  issuedLately: counts?.issued_lately ?? 0,
  failedLately: counts?.failed_lately ?? 0,
  liveCerts: counts?.live_certs ?? 0,
});
