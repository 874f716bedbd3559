// The name constraints extension (RFC 5280 section 4.2.1.10): dns domains and IP networks, permitted and excluded.
import { childrenOf, contentsOf, contextConstructed, contextPrimitive, type DerNode, elementsOf, tags } from './der.ts';
import { type Encodable, implicit, implicitSequence, sequence } from './der-writer.ts';
import { generalNameKind } from './general-name.ts';
import { formatNetwork, parseNetwork } from './ip-address.ts';
import { X509Error } from './x509-error.ts';

/** Domains without leading dot hold for themselves and all below; networks are like `10.0.0.0/8`. */
export type NameConstraints = {
  readonly permittedDns: readonly string[];
  readonly excludedDns: readonly string[];
  readonly permittedIp: readonly string[];
  readonly excludedIp: readonly string[];
};

export type ReadNameConstraints = NameConstraints & {
  /** Kinds of names, like `email`, that are constrained as well but mean nothing here. */
  readonly otherKinds: readonly string[];
};

const WHAT = 'the name constraints extension';
const DOMAIN = /^\.?([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)?$/;
const MAX_SUBTREES = 1_000;

export function encodeNameConstraints(constraints: NameConstraints): Encodable {
  const permitted = [...constraints.permittedDns.map(dnsSubtree), ...constraints.permittedIp.map(ipSubtree)];
  const excluded = [...constraints.excludedDns.map(dnsSubtree), ...constraints.excludedIp.map(ipSubtree)];
  if (permitted.length + excluded.length === 0) throw new X509Error('bad_extension', `${WHAT} must not be empty.`);
  return sequence(
    permitted.length > 0 ? implicitSequence(0, ...permitted) : undefined,
    excluded.length > 0 ? implicitSequence(1, ...excluded) : undefined,
  );
}

export function readNameConstraints(node: DerNode): ReadNameConstraints {
  const elements = elementsOf(node, tags.sequence, WHAT);
  const permitted = readSubtrees(elements.nextIf(contextConstructed(0)), contextConstructed(0));
  const excluded = readSubtrees(elements.nextIf(contextConstructed(1)), contextConstructed(1));
  elements.end();
  const ofKind = (subtrees: readonly Subtree[], wanted: string) =>
    subtrees.flatMap(({ kind, value }) => (kind === wanted ? [value] : []));
  const others = [...permitted, ...excluded].map(({ kind }) => kind).filter((kind) => kind !== 'dns' && kind !== 'ip');
  return {
    permittedDns: ofKind(permitted, 'dns'),
    excludedDns: ofKind(excluded, 'dns'),
    permittedIp: ofKind(permitted, 'ip'),
    excludedIp: ofKind(excluded, 'ip'),
    otherKinds: [...new Set(others)],
  };
}

type Subtree = { readonly kind: string; readonly value: string };

function readSubtrees(node: DerNode | undefined, tag: number): readonly Subtree[] {
  if (node === undefined) return [];
  const children = childrenOf(node, tag, WHAT);
  if (children.length === 0) throw new X509Error('bad_extension', `${WHAT} has an empty list.`);
  if (children.length > MAX_SUBTREES)
    throw new X509Error('too_large', `${WHAT} has more than ${MAX_SUBTREES} entries.`);
  return children.map(readSubtree);
}

/** `minimum` and `maximum` must not be used (RFC 5280), so the name stands alone. */
function readSubtree(node: DerNode): Subtree {
  const elements = elementsOf(node, tags.sequence, WHAT);
  const base = elements.next('base');
  elements.end();
  switch (base.tag) {
    case contextPrimitive(2):
      return { kind: 'dns', value: checkedDomain(contentsOf(base, contextPrimitive(2), WHAT).toString('latin1')) };
    case contextPrimitive(7):
      return { kind: 'ip', value: formatNetwork(contentsOf(base, contextPrimitive(7), WHAT), WHAT) };
    default:
      return { kind: generalNameKind(base, WHAT), value: '' };
  }
}

function checkedDomain(domain: string): string {
  if (domain.length > 253 || !DOMAIN.test(domain)) {
    throw new X509Error('bad_name', `${WHAT} holds a domain that is not letters, digits, hyphens and dots.`);
  }
  return domain.toLowerCase();
}

const dnsSubtree = (domain: string): Encodable => sequence(implicit(2, Buffer.from(checkedDomain(domain), 'latin1')));

const ipSubtree = (network: string): Encodable => sequence(implicit(7, parseNetwork(network)));
