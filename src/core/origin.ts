// Who made a row, and who may change it: Git stays the one master of what it declares.
import type { Owner } from '../store/origin.ts';
import { CaError } from './errors.ts';
import { type ObjectKind, objectKinds } from './object-kinds.ts';

/** The columns of a row that say who made it. */
export type Owned = {
  readonly origin: 'kubernetes' | 'api' | 'acme';
  readonly origin_namespace: string | null;
  readonly origin_name: string | null;
  readonly orphaned_at: Date | null;
};

/** The kinds that custom resources declare. */
export type DeclaredKind = Extract<ObjectKind, 'signing_cert' | 'directory' | 'external_binding' | 'acme_key'>;

/** What they are called in a cluster. */
export const customResourceKinds = {
  signing_cert: 'SigningCert',
  directory: 'Directory',
  external_binding: 'ExternalBinding',
  acme_key: 'AcmeKey',
} as const satisfies Record<DeclaredKind, string>;

/** The custom resource that a row belongs to, if any. One that it left behind (Retain) belongs to nobody. */
export const ownerOf = ({
  origin,
  origin_namespace: namespace,
  origin_name: name,
  orphaned_at,
}: Owned): Owner | undefined =>
  origin === 'kubernetes' && orphaned_at === null ? { namespace: namespace ?? '', name: name ?? '' } : undefined;

/** Throws `managed_by_kubernetes` for a row of a custom resource. */
export function requireChangeable(kind: DeclaredKind, row: Owned): void {
  const owner = ownerOf(row);
  if (owner === undefined) return;
  const object = `${customResourceKinds[kind]} ${owner.namespace}/${owner.name}`;
  throw new CaError(
    'managed_by_kubernetes',
    `This ${objectKinds[kind].noun} belongs to the custom resource ${object}; change it there.`,
  );
}
