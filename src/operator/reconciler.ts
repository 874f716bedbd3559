// What a reconciler is: steps over one object, each with one of three outcomes.
import type { Ca } from '../core/ca.ts';
import type { Declared } from '../core/declared.ts';
import type { CommonStatus, Condition, KindName, Reference, Resource, ResourceKey } from '../resources/resource.ts';
import type { EventSink, ObjectEvent, Outputs, ResourceSource, TrustMirror } from './ports.ts';

/** `wait`: goes on by itself or when what it waits for comes. `stalled`: the user has to change something. */
export type Outcome =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'wait'; readonly reason: string; readonly message: string; readonly afterMs?: number }
  | { readonly outcome: 'stalled'; readonly reason: string; readonly message: string };

/** What reconcilers work with. */
export type OperatorContext = {
  readonly ca: Ca;
  readonly source: ResourceSource;
  readonly outputs: Outputs;
  /** Undefined where nobody collects. */
  readonly trustMirror?: TrustMirror;
  readonly events: EventSink;
  readonly referrers: Referrers;
  readonly claimants: Claimants;
  /** The release namespace: keys of CAs lie there. */
  readonly namespace: string;
  /** Where SigningCerts are accepted; undefined: everywhere. */
  readonly caNamespaces: readonly string[] | undefined;
  /** Trust anchors of our own HTTPS in PEM; undefined where the clients have them already. */
  readonly anchors: () => string | undefined;
};

/** Who names an object in its spec. */
export type Referrers = { to(key: ResourceKey): readonly ResourceKey[] };

/** Who claims a name that only one can hold. */
export type Claimants = { of(claim: string): readonly ResourceKey[] };

/** One run over one object. What no step sets in `status` and `conditions` stays as it was. */
export type Visit<R extends Resource> = {
  readonly resource: R;
  readonly declared: Declared;
  readonly signal: AbortSignal;
  /** False at a restart, where what the status says of Secrets and ConfigMaps is believed until the next safety visit. */
  readonly isThorough: boolean;
  /** The fields of the kind. */
  readonly status: { -readonly [Name in Exclude<keyof StatusOf<R>, keyof CommonStatus>]?: StatusOf<R>[Name] };
  /** Sets a condition of the kind's own; Ready, Reconciling, Stalled and Paused follow from the outcomes. */
  condition(type: string, condition: Pick<Condition, 'status' | 'reason' | 'message'>): void;
  /** Tells what happened; once per thing, also where visits repeat it. */
  event(event: Omit<ObjectEvent, 'action'>): void;
  /** Not later than then is the next visit. */
  comeBackAt(time: Date): void;
};

export type StatusOf<R extends Resource> = R extends Resource<KindName, unknown, infer Status> ? Status : never;

/** Throws CaError, SourceError, and the signal's reason; everything else is a bug. */
export type Step<R extends Resource> = (operator: OperatorContext, visit: Visit<R>) => Promise<Outcome>;

export type Reconciler<R extends Resource> = {
  readonly kind: R['kind'];
  /** The objects of ours that its spec names. */
  references(resource: R): readonly ResourceKey[];
  /** Whether something has to be undone before it may go. */
  needsFinalizer(resource: R): boolean;
  readonly steps: readonly Step<R>[];
  /** How many objects are looked at at once; a few where nothing is said. */
  readonly concurrency?: number;
  /** What has to be done before it may go, in order; one that waits or stalls holds it. */
  readonly deletion: readonly Step<R>[];
  /** An object that had no finalizer is gone: what it left behind is settled. */
  gone?(operator: OperatorContext, object: Gone, signal: AbortSignal): Promise<void>;
  /** Those for which `gone` may have something to settle, whether their objects are there or not. */
  origins?(operator: OperatorContext): Promise<readonly Gone[]>;
  /** Names that only one object can hold, such as `slug/web`: when one lets go, the others look again. */
  claims?(resource: R): readonly string[];
  /** Whether those who refer to it can see a difference. */
  showsToReferrers(before: R, after: R): boolean;
};

/** An object that is gone: another one may have its name now. */
export type Gone = ResourceKey & { readonly uid: string };

export const done: Outcome = { outcome: 'done' };

/** The object that a reference names, in the namespace of who refers where it names none. */
export const referenced = (kind: KindName, from: Resource, { name, namespace }: Reference): ResourceKey => ({
  kind,
  namespace: namespace ?? from.metadata.namespace,
  name,
});
