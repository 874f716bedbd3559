// All chains that a leaf can be sent with: a CA that is cross-signed stands in several certificates of one name and key.

/** A CA cert in a chain. */
export type Link = {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly isRoot: boolean;
  /** May stand for another one. */
  readonly isOffered: boolean;
  /** Equal for certificates of one name and key. */
  readonly identity: string;
};

/** Clients look at each of them. */
const MOST_CHAINS = 8;
/** CRT-4: with the leaf, five. */
const MOST_INTERMEDIATES = 4;

/**
 * Ids of the intermediates of each chain, the issuer of the leaf first and without the root. The first chain is that of
 * the CA cert that signed, whatever its length; the others have at least one certificate that it has not.
 */
export function chainsAbove<L extends Link>(issuerId: string, links: readonly L[]): readonly (readonly L[])[] {
  const chains = new Map<string, readonly L[]>();
  for (const chain of walk(issuerId, links, new Set())) {
    const key = chain.map(({ id }) => id).join();
    const isFirst = chains.size === 0;
    if (!chains.has(key) && (isFirst || chain.length <= MOST_INTERMEDIATES)) chains.set(key, chain);
    if (chains.size === MOST_CHAINS) break;
  }
  return [...chains.values()];
}

function* walk<L extends Link>(id: string, links: readonly L[], seen: ReadonlySet<string>): Generator<readonly L[]> {
  const usual = links.find((link) => link.id === id);
  // Two CAs that signed each other make no endless chain.
  if (usual === undefined || seen.has(usual.identity)) return;
  const twins = links.filter(({ identity, isOffered }) => identity === usual.identity && isOffered);
  const within = new Set([...seen, usual.identity]);
  for (const link of new Set([usual, ...twins])) {
    if (link.isRoot) yield [];
    else if (link.parentId === undefined) yield [link];
    else for (const above of walk(link.parentId, links, within)) yield [link, ...above];
  }
}
