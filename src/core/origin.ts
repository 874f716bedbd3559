// Who made a row, and who may change it: Git stays the one master of what it declares.
import type { Fence, Owner } from '../store/origin.ts';
import type { Actor } from './caller.ts';
import { CaError } from './errors.ts';
import { type ObjectKind, objectKinds } from './object-kinds.ts';

/** The columns of a row that say who made it. */
export type Owned = {
  readonly origin: 'kubernetes' | 'api' | 'acme';
  readonly origin_namespace: string | null;
  readonly origin_name: string | null;
  readonly orphaned_at: Date | null;
};

/** With which object it was, and which of its states. */
export type OwnedState = Owned & { readonly origin_uid: string | null; readonly origin_generation: number | null };

/** The kinds that custom resources declare. */
export type DeclaredKind = Extract<ObjectKind, 'signing_cert' | 'directory' | 'external_binding' | 'acme_key'>;

/** What they are called in a cluster. */
export const customResourceKinds = {
  signing_cert: 'SigningCert',
  directory: 'Directory',
  external_binding: 'ExternalBinding',
  acme_key: 'AcmeKey',
} as const satisfies Record<DeclaredKind, string>;

/**
 * `uid` and `generation` fence every write: a row that a later generation, or an object of another uid, has written is not
 * changed by an earlier one. `adopt` is the id of a row of /v1 that the object is to take over.
 */
export type Declared = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly adopt?: string;
};

/** Who acts; a custom resource with its state, which fences what it writes. */
export type Author = Actor & { readonly declared?: Declared };

export const fenceOf = ({ declared }: Author): Fence | undefined => declared;

/** Of a row that this author makes or takes over. */
export const originColumns = ({ declared }: Author) =>
  declared === undefined
    ? ({ origin: 'api' } as const)
    : ({
        origin: 'kubernetes',
        origin_namespace: declared.namespace,
        origin_name: declared.name,
        origin_uid: declared.uid,
        origin_generation: declared.generation,
        orphaned_at: null,
      } as const);

export type DeletionPolicy = 'Retain' | 'Delete';

/** Of a row that its custom resource leaves behind, as the last state of that writes it. */
export const orphanColumns = ({ generation }: Declared, now: Date) => ({
  origin_generation: generation,
  orphaned_at: now,
});

/** The custom resource that a row belongs to, if any. One that it left behind (Retain) belongs to nobody. */
export const ownerOf = ({
  origin,
  origin_namespace: namespace,
  origin_name: name,
  orphaned_at,
}: Owned): Owner | undefined =>
  origin === 'kubernetes' && orphaned_at === null ? { namespace: namespace ?? '', name: name ?? '' } : undefined;

/** For the records of changes: only a change of owner is kept. */
export function ownedFacts(row: Owned): { readonly custom_resource: string | null } {
  const owner = ownerOf(row);
  return { custom_resource: owner === undefined ? null : `${owner.namespace}/${owner.name}` };
}

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
