// Who made a row, and who may change it: Git stays the one master of what it declares.
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

const customResourceKinds = {
  signing_cert: 'SigningCert',
  directory: 'Directory',
  external_binding: 'ExternalBinding',
  acme_key: 'AcmeKey',
} as const satisfies Record<DeclaredKind, string>;

/** Throws `managed_by_kubernetes` for a row of a custom resource. One that it left behind (Retain) may be changed. */
export function requireChangeable(kind: DeclaredKind, row: Owned): void {
  if (row.origin !== 'kubernetes' || row.orphaned_at !== null) return;
  const object = `${customResourceKinds[kind]} ${row.origin_namespace}/${row.origin_name}`;
  throw new CaError(
    'managed_by_kubernetes',
    `This ${objectKinds[kind].noun} belongs to the custom resource ${object}; change it there.`,
  );
}
