// What people write on an object beside its spec, and the label that says which operator it is for.
import { API_GROUP, type Resource } from './resource.ts';

export const annotations = {
  /** `"true"`: nothing is written for the object, deletion included; serving goes on. */
  paused: `${API_GROUP}/paused`,
  /** Any new text asks for a visit; status.lastHandledReconcileAt answers it. */
  reconcileRequestedAt: `${API_GROUP}/reconcile-requested-at`,
  /** Any new text on an ExternalBinding asks for a new MAC key under the same key id. */
  renew: `${API_GROUP}/renew`,
  /** The id of a row of /v1 that the object takes over. */
  adopt: `${API_GROUP}/adopt`,
  /** `"true"`: a Directory takes the slug of a deleted one. */
  reuseSlug: `${API_GROUP}/reuse-slug`,
  /** `"true"`: an object that is being deleted goes, whatever holds it. */
  forceDelete: `${API_GROUP}/force-delete`,
  /** `<namespace>/<Directory>` on a cert-manager Issuer: fills its caBundle. */
  injectFrom: `${API_GROUP}/inject-from`,
} as const;

export type AnnotationName = keyof typeof annotations;

/** Which of several operators an object is for. */
export const CLASS_LABEL = `${API_GROUP}/class`;

/** What is longer is cut: a status repeats some of these texts, and is bounded. */
export const ANNOTATION_SHOWN = 1024;

/** Undefined where there is none; an empty one counts as none. */
export function annotationOf({ metadata }: Pick<Resource, 'metadata'>, name: AnnotationName): string | undefined {
  const text = metadata.annotations?.[annotations[name]];
  return text === undefined || text === '' ? undefined : text.slice(0, ANNOTATION_SHOWN);
}

/** Only the text `true` counts. */
export const isAnnotated = (resource: Pick<Resource, 'metadata'>, name: AnnotationName): boolean =>
  annotationOf(resource, name) === 'true';
