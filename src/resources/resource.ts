// What all custom resources have in common: how one looks to those who work with it.

export const kindNames = ['SigningCert', 'Directory', 'ExternalBinding', 'AcmeKey'] as const;
export type KindName = (typeof kindNames)[number];

export const API_GROUP = 'acmery.io';
export const API_VERSION = `${API_GROUP}/v1`;
export const FINALIZER = `${API_GROUP}/finalizer`;

/** Which object: unique at one time, while a uid is unique for ever. */
export type ResourceKey = { readonly kind: KindName; readonly namespace: string; readonly name: string };

export type ResourceMeta = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  /** Set once it is being deleted. */
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};

/** metav1.Condition. */
export type Condition = {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
  readonly lastTransitionTime: string;
};

/** What the status of every kind holds. */
export type CommonStatus = {
  /** -1 until the first visit. */
  readonly observedGeneration: number;
  readonly conditions?: readonly Condition[];
  /** The annotation `acmery.io/reconcile-requested-at` as it was last answered. */
  readonly lastHandledReconcileAt?: string;
};

export type Resource<Kind extends KindName = KindName, Spec = unknown, Status = CommonStatus> = {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: Kind;
  readonly metadata: ResourceMeta;
  readonly spec: Spec;
  readonly status?: Status;
};

export const keyOf = ({ kind, metadata: { namespace, name } }: Resource): ResourceKey => ({ kind, namespace, name });

/** For maps. */
export const keyText = ({ kind, namespace, name }: ResourceKey): string => `${kind}/${namespace}/${name}`;

/** Of another object of ours; in its own namespace where none is named. */
export type Reference = { readonly name: string; readonly namespace?: string };
