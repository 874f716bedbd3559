// What manifests come as: parsed documents that know where they stand, and problems that say so.
import type { ResourceOf } from './kinds.ts';
import type { KindName, ResourceMeta } from './resource.ts';

/** A member or item of a document, and the line of its file on which it begins. */
export type Place = { readonly path: readonly (string | number)[]; readonly line: number };

export type ParsedDocument = {
  readonly file: string;
  readonly value: unknown;
  /** The document itself, as the empty path, and what is in it. */
  readonly places: readonly Place[];
};

export type ManifestProblem = {
  readonly file: string;
  /** Undefined where the file could not be read. */
  readonly line?: number;
  /** `Directory acmery-system/web`; undefined where that is not known. */
  readonly object?: string;
  /** As the manifest writes it: `spec.certMaxDays`; undefined where it is the whole. */
  readonly field?: string;
  readonly message: string;
};

type ManifestOf<Kind extends KindName> = Pick<ResourceOf[Kind], 'apiVersion' | 'kind' | 'spec'> & {
  readonly metadata: Pick<ResourceMeta, 'namespace' | 'name' | 'labels' | 'annotations'>;
};
/** An object of ours as people declare it, with its defaults filled in. */
export type Manifest = { readonly [Kind in KindName]: ManifestOf<Kind> }[KindName];

/** Of another kind, such as a Secret: not looked into. */
export type ForeignManifest = { readonly apiVersion: string; readonly kind: string; readonly value: object };

/** `web.yaml:14: Directory acmery-system/web: spec.certMaxDays: expected ...` */
export const problemLine = ({ file, line, object, field, message }: ManifestProblem): string =>
  [line === undefined ? file : `${file}:${line}`, object, field, message]
    .filter((part) => part !== undefined)
    .join(': ');
