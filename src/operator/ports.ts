// What the operator needs from outside. A cluster gives it, or a folder; the operator never learns which.
import type { KindName, Resource, ResourceKey } from '../resources/resource.ts';

/** One object as it was and as it is: `before` undefined for a new one, `after` for one that is gone. */
export type Change = { readonly key: ResourceKey; readonly before?: Resource; readonly after?: Resource };

export type NamespaceFacts = { readonly labels: Readonly<Record<string, string>>; readonly isTerminating: boolean };

/** A Secret that somebody else made, changed or removed. */
export type SecretChange = {
  readonly namespace: string;
  readonly name: string;
  /** The object that it was made for. */
  readonly owner?: ResourceKey;
};

export type ChangeHandlers = {
  /** Once for every object that is there at first, then for every change. An object with a new uid is two changes. */
  changed(change: Change): void;
  /** Its labels changed, or it is going. */
  namespaceChanged(namespace: string): void;
  /** Only from sources that follow Secrets: others are asked again and again. */
  secretChanged?(secret: SecretChange): void;
};

/**
 * The declared objects. Reads are of a copy in memory that follows the truth; writes go to the truth, and show in the copy
 * when they come back. Writes throw SourceError.
 */
export type ResourceSource = {
  /** Begins to follow; called once. The handlers must not throw. Follows, whatever happens, until it is disposed of. */
  follow(handlers: ChangeHandlers): void;
  /** Resolves when everything that was there at first has been told. Rejects with the signal's reason only. */
  synced(signal: AbortSignal): Promise<void>;
  get(key: ResourceKey): Resource | undefined;
  list(kind: KindName): readonly Resource[];
  /** Whether this very object is no more, and not just out of sight: in a namespace, or of a class, that we do not follow. */
  isGone(key: ResourceKey, uid: string, signal: AbortSignal): Promise<boolean>;
  /** Undefined where it is not known. */
  namespace(name: string): NamespaceFacts | undefined;
  /** The whole status; only where the object still has this uid and the status that was seen, else `conflict`. */
  writeStatus(resource: Resource, status: object, signal: AbortSignal): Promise<void>;
  /** Only where the object has not changed since it was read. The object as it is then; undefined once it is gone. */
  setFinalizer(resource: Resource, isWanted: boolean, signal: AbortSignal): Promise<Resource | undefined>;
  /** A Secret that a spec names; the values decoded. Undefined where there is none. */
  readSecret(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, Buffer>> | undefined>;
};

/** An object that is made for a declared one, in its namespace, and goes with it. */
export type Output = {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
  /** It was made before: it is looked at first, since what stands there need not be written. */
  readonly wasMade?: boolean;
};

/** Throws SourceError, `foreign` where an object of that name is not ours. */
export type Outputs = {
  /** Makes it, unless there is one of ours, which stays as it is. The values, decoded, of the one that stands there. */
  createOnce(owner: Resource, output: Output, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Makes it, or makes it equal again. */
  apply(owner: Resource, output: Output, signal: AbortSignal): Promise<'created' | 'corrected' | 'unchanged'>;
  /** The values, decoded, of one that is ours. */
  read(
    owner: Resource,
    output: Pick<Output, 'kind' | 'name'>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>> | undefined>;
  /** It stays when its owner goes, for one of the same name to come. Leaves one that is not ours. */
  retain(owner: Resource, output: Pick<Output, 'kind' | 'name'>, signal: AbortSignal): Promise<void>;
  /** Leaves one that is not ours. */
  remove(owner: Resource, output: Pick<Output, 'kind' | 'name'>, signal: AbortSignal): Promise<void>;
};

/** Copies of the ConfigMaps of Directories in one place, for who collects trust from all. Throws SourceError as Outputs do. */
export type TrustMirror = {
  /** Whether this process has put it there. */
  isTold(directory: Resource): boolean;
  /** Makes it, or makes it equal again. */
  publish(directory: Resource, data: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>;
  /** Leaves one that is not ours. */
  remove(directory: Resource, signal: AbortSignal): Promise<void>;
};

/** Why a source refused: `conflict` and `gone` are settled by looking again, `foreign` and `refused` by the user. */
export type SourceRefusal = 'conflict' | 'gone' | 'foreign' | 'refused' | 'unavailable';

export class SourceError extends Error {
  readonly refusal: SourceRefusal;

  constructor(refusal: SourceRefusal, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SourceError';
    this.refusal = refusal;
  }
}

/** Something that happened to an object, for whoever describes it. */
export type ObjectEvent = {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, such as `BindingCreated`. */
  readonly reason: string;
  /** What was done, CamelCase: `Reconcile`, `Delete`. */
  readonly action: string;
  readonly note: string;
};

/** Never throws and is never waited for; what cannot be told is dropped. */
export type EventSink = { record(resource: Resource, event: ObjectEvent): void };

export type Leadership = {
  /**
   * Runs `work` each time this process comes to lead, until the outer signal aborts. The signal that it is given aborts
   * when leadership is lost or given up; leadership is handed on only after `work` has ended.
   */
  lead(work: (leading: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Throws where this process still works as the leader long after it could last renew that: only a restart helps. */
  requireRenewed?(): void;
};
