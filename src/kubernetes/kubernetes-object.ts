// An object of the API server as its JSON comes, and what of it is kept in memory.
import { ANNOTATION_SHOWN, annotations } from '../resources/annotations.ts';
import { API_GROUP } from '../resources/resource.ts';

export type KubernetesObject = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
};

type ObjectMeta = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly managedFields?: readonly { readonly manager?: string; readonly time?: string }[];
  readonly ownerReferences?: readonly OwnerReference[];
};

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
};

/** The one owner that has the say over it. */
export const controllerOf = ({ metadata }: KubernetesObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

/** In whatever version. */
export const isOfOurGroup = ({ apiVersion }: Pick<OwnerReference, 'apiVersion'>): boolean =>
  apiVersion.split('/')[0] === API_GROUP;

const ours: ReadonlySet<string> = new Set(Object.values(annotations));

/**
 * Without what only others need: whoever may make an object may make its metadata a thousand times as large as the rest, and
 * every replica keeps all objects in memory. Labels are asked of namespaces alone, which are in none.
 */
export function slim<T extends KubernetesObject>(object: T): T {
  const { managedFields: _, ownerReferences: __, annotations: given, labels, ...metadata } = object.metadata;
  const kept = Object.entries(given ?? {}).filter(([name]) => ours.has(name));
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(labels && metadata.namespace === undefined && { labels }),
      ...(kept.length > 0 && { annotations: Object.fromEntries(kept.map(([name, text]) => [name, shortened(text)])) }),
    },
  };
}

/** A part of a string would keep all of it in memory. */
const shortened = (text: string): string =>
  text.length <= ANNOTATION_SHOWN ? text : Buffer.from(text.slice(0, ANNOTATION_SHOWN)).toString();
