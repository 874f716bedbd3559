// Secrets and ConfigMaps of a stand-in for a cluster: what users put there, and what is made for declared objects.
import { type Output, type Outputs, SourceError } from '../../src/operator/ports.ts';
import type { Resource } from '../../src/resources/resource.ts';

type Values = Readonly<Record<string, string>>;

type Stored = {
  readonly kind: Output['kind'];
  readonly namespace: string;
  readonly name: string;
  readonly values: Values;
  /** Grows with every write of any of them. */
  readonly resourceVersion: number;
  /** Undefined for what users made. */
  readonly owner?: { readonly kind: string; readonly name: string; readonly uid: string };
};

export type DeclaredOutputs = Outputs & {
  /** As kubectl shows it. */
  output(kind: Output['kind'], namespace: string, name: string): Stored | undefined;
  /** Written by somebody else: over one of ours it stays ours. */
  write(kind: Output['kind'], namespace: string, name: string, values: Values): void;
  /** Deleted by somebody else. */
  erase(kind: Output['kind'], namespace: string, name: string): void;
  /** What garbage collection does when an owner is gone. */
  collect(ownerUid: string): void;
};

/** `request` is called with what an API server would log, and may throw as one that is away. */
export function declaredOutputs(request: (line: string) => void): DeclaredOutputs {
  const stored = new Map<string, Stored>();
  let writes = 0;
  const put = (output: Omit<Stored, 'resourceVersion'>): void =>
    void stored.set(keyOf(output), { ...output, resourceVersion: ++writes });
  /** Of this object, or of the one that had its name before. */
  const ours = (owner: Resource, { kind, name }: Pick<Output, 'kind' | 'name'>): Stored | undefined => {
    const { namespace } = owner.metadata;
    const found = stored.get(keyOf({ kind, namespace, name }));
    if (found !== undefined && (found.owner?.kind !== owner.kind || found.owner.name !== owner.metadata.name)) {
      throw new SourceError('foreign', `${kind} ${namespace}/${name} is not of ${owner.kind} ${owner.metadata.name}.`);
    }
    return found;
  };
  const place = (owner: Resource, output: Output): void =>
    put({
      kind: output.kind,
      namespace: owner.metadata.namespace,
      name: output.name,
      values: output.data,
      owner: { kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid },
    });
  const asked = async (
    verb: string,
    owner: Resource,
    { kind, name }: Pick<Output, 'kind' | 'name'>,
    signal: AbortSignal,
  ) => {
    await answered(signal);
    request(`${verb} ${kind} ${owner.metadata.namespace}/${name}`);
  };

  return {
    createOnce: async (owner, output, signal) => {
      await asked('create', owner, output, signal);
      const found = ours(owner, output);
      if (found === undefined) place(owner, output);
      return found?.values ?? output.data;
    },
    apply: async (owner, output, signal) => {
      await asked('apply', owner, output, signal);
      const found = ours(owner, output);
      const isRight = found?.owner?.uid === owner.metadata.uid && isSame(found.values, output.data);
      if (isRight) return 'unchanged';
      place(owner, output);
      return found === undefined ? 'created' : 'corrected';
    },
    read: async (owner, output, signal) => {
      await asked('get', owner, output, signal);
      return ours(owner, output)?.values;
    },
    retain: async (owner, output, signal) => {
      await asked('retain', owner, output, signal);
      const found = ours(owner, output);
      if (found?.owner !== undefined) put({ ...found, owner: { ...found.owner, uid: 'nobody' } });
    },
    remove: async (owner, output, signal) => {
      await asked('delete', owner, output, signal);
      const id = keyOf({ ...output, namespace: owner.metadata.namespace });
      const found = stored.get(id);
      // A stranger's stays.
      if (found?.owner?.kind === owner.kind && found.owner.name === owner.metadata.name) stored.delete(id);
    },
    output: (kind, namespace, name) => stored.get(keyOf({ kind, namespace, name })),
    write: (kind, namespace, name, values) => {
      const owner = stored.get(keyOf({ kind, namespace, name }))?.owner;
      put({ kind, namespace, name, values, ...(owner !== undefined && { owner }) });
    },
    erase: (kind, namespace, name) => void stored.delete(keyOf({ kind, namespace, name })),
    collect: (uid) => {
      for (const [key, { owner }] of stored) if (owner?.uid === uid) stored.delete(key);
    },
  };
}

/** No answer comes in the turn of the question, and none to who has stopped asking. */
export async function answered(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

const keyOf = ({ kind, namespace, name }: Pick<Stored, 'kind' | 'namespace' | 'name'>) =>
  `${kind}/${namespace}/${name}`;

const isSame = (one: Values, other: Values): boolean =>
  JSON.stringify(Object.entries(one).toSorted()) === JSON.stringify(Object.entries(other).toSorted());
