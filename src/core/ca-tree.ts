// The CA certs as a tree, each with its end, its CRL, and the directories that issue or once issued from it.
import { type CaTreeRow, findCaTreeRow, listCaTreeRows } from '../store/ca-tree.ts';
import { type DirectoryRow, listDirectoryRows } from '../store/directories.ts';
import { countLiveLeaves } from '../store/issued-certs.ts';
import type { Ca } from './ca.ts';
import { found } from './object-kinds.ts';
import { pageOf } from './paging.ts';

type ShownCrl = {
  readonly number: string;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  /** Made elsewhere, for an offline CA. */
  readonly isUploaded: boolean;
};

/** `waiting`: its CSR has to be signed elsewhere. */
export type CaState = 'valid' | 'expired' | 'revoked' | 'waiting';

export type ShownCa = {
  readonly id: string;
  readonly name: string;
  readonly state: CaState;
  readonly certType: CaTreeRow['cert_type'];
  readonly keyAvailability: CaTreeRow['key_availability'];
  readonly keyType: CaTreeRow['key_type'];
  readonly parentId: string | undefined;
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  readonly createdAt: Date;
  readonly revokedAt: Date | undefined;
  /** The custom resource that declares it. */
  readonly declaredBy: string | undefined;
  readonly crl: ShownCrl | undefined;
};

/** A directory and how it stands to a CA cert. */
export type CaUse = {
  readonly directoryId: string;
  readonly slug: string;
  /** `former`: it issued from this one before its rollover, at this time. */
  readonly use: 'current' | 'former';
  readonly rolloverAt: Date | undefined;
};

export type CaNode = ShownCa & {
  /** 1 for what stands below nothing that is shown. */
  readonly level: number;
  readonly uses: readonly CaUse[];
};

export type CaTree = {
  /** Parents before their children, each child right below its parent. */
  readonly nodes: readonly CaNode[];
  /** There are more CA certs than are shown. */
  readonly hasMore: boolean;
};

/** The newest; a service has a handful. */
const MOST_CAS = 200;
const MOST_DIRECTORIES = 200;

/** Two statements, each one walk of an index. */
export async function getCaTree(ca: Ca): Promise<CaTree> {
  const { db } = ca.database;
  const now = ca.clock.now();
  const [cas, directories] = await Promise.all([
    listCaTreeRows(db, { limit: MOST_CAS, direction: 'desc' }),
    listDirectoryRows(db, {}, { limit: MOST_DIRECTORIES, direction: 'desc', sort: 'id' }),
  ]);
  const { items, hasMore } = pageOf(cas, (row) => shownCa(row, now));
  return { nodes: inTreeOrder(items, usesIn(directories?.rows ?? [])), hasMore };
}

/** One of them by its uuid. Throws `not_found`. */
export const getShownCa = async (ca: Ca, id: string): Promise<ShownCa> =>
  shownCa(found('signing_cert', id, await findCaTreeRow(ca.database.db, id)), ca.clock.now());

/** Leaves that it signed itself and that are neither revoked nor expired, counted to `most`. */
export const countLeavesOf = (ca: Ca, id: string, most: number): Promise<number> =>
  countLiveLeaves(ca.database.db, id, { now: ca.clock.now(), limit: most });

/** The oldest first among those of one parent. */
function inTreeOrder(cas: readonly ShownCa[], uses: ReadonlyMap<string, readonly CaUse[]>): readonly CaNode[] {
  const shown = new Set(cas.map(({ id }) => id));
  const byParent = Map.groupBy(cas.toReversed(), ({ parentId }) =>
    parentId !== undefined && shown.has(parentId) ? parentId : undefined,
  );
  const below = (parentId: string | undefined, level: number): readonly CaNode[] =>
    (byParent.get(parentId) ?? []).flatMap((node) => [
      { ...node, level, uses: uses.get(node.id) ?? [] },
      ...below(node.id, level + 1),
    ]);
  return below(undefined, 1);
}

function usesIn(directories: readonly DirectoryRow[]): ReadonlyMap<string, readonly CaUse[]> {
  const all = directories.flatMap(({ id, slug, signing_cert_id, former_signing_certs, rollover_at }) => {
    const use = { directoryId: id, slug, rolloverAt: rollover_at ?? undefined };
    const former = former_signing_certs.filter((caId) => caId !== signing_cert_id);
    return [
      { caId: signing_cert_id, use: { ...use, use: 'current' as const } },
      ...former.map((caId) => ({ caId, use: { ...use, use: 'former' as const } })),
    ];
  });
  const byCa = Map.groupBy(all, ({ caId }) => caId);
  return new Map([...byCa].map(([caId, entries]) => [caId, entries.map(({ use }) => use)]));
}

const shownCa = (row: CaTreeRow, now: Date): ShownCa => ({
  id: row.id,
  name: row.name,
  state: stateOf(row, now),
  certType: row.cert_type,
  keyAvailability: row.key_availability,
  keyType: row.key_type,
  parentId: row.parent_id ?? undefined,
  notBefore: row.not_before ?? undefined,
  notAfter: row.not_after ?? undefined,
  createdAt: row.created_at,
  revokedAt: row.revoked_at ?? undefined,
  declaredBy: row.origin === 'kubernetes' ? `${row.origin_namespace}/${row.origin_name}` : undefined,
  crl: crlOf(row),
});

function stateOf({ state, not_after }: CaTreeRow, now: Date): CaState {
  if (state === 'revoked') return 'revoked';
  if (not_after === null) return 'waiting';
  return not_after <= now ? 'expired' : 'valid';
}

function crlOf({ number, this_update, next_update, uploaded }: CaTreeRow): ShownCrl | undefined {
  if (number === null || this_update === null || next_update === null) return undefined;
  return { number, thisUpdate: this_update, nextUpdate: next_update, isUploaded: uploaded };
}
