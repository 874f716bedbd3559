// Secrets and ConfigMaps that go with a custom resource: made by one plain write, and nobody else's touched.
import { isDeepStrictEqual } from 'node:util';
import { type Output, type Outputs, SourceError } from '../operator/ports.ts';
import { API_GROUP, type Resource } from '../resources/resource.ts';
import { APPLY, corePath, MERGE } from './api-paths.ts';
import type { ClusterRequests } from './client.ts';
import { deleteAsFound } from './delete-as-found.ts';
import { controllerOf, isOfOurGroup, type KubernetesObject, type OwnerReference } from './kubernetes-object.ts';
import { FIELD_MANAGER, isMadeByUs, MANAGED_BY_US } from './managed-by.ts';
import { asSource, isReason, orUndefined } from './source-errors.ts';

type Stored = KubernetesObject & { readonly data?: Readonly<Record<string, string>> };
type Named = Pick<Output, 'kind' | 'name'>;

/** For whom it was made, also where it was kept, or a backup of the cluster came back without owner references. */
const MADE_FOR = `${API_GROUP}/made-for`;
const plurals = { Secret: 'secrets', ConfigMap: 'configmaps' } as const;

export const clusterOutputs = (cluster: ClusterRequests): Outputs => ({
  createOnce: (owner, output, signal) => asSource(createOnce({ cluster, owner, signal }, output)),
  apply: (owner, output, signal) => asSource(apply({ cluster, owner, signal }, output)),
  read: (owner, named, signal) => asSource(read({ cluster, owner, signal }, named)),
  retain: (owner, named, signal) => asSource(retain({ cluster, owner, signal }, named)),
  remove: (owner, named, signal) => asSource(remove({ cluster, owner, signal }, named)),
});

type Context = { readonly cluster: ClusterRequests; readonly owner: Resource; readonly signal: AbortSignal };

async function createOnce(context: Context, output: Output): Promise<Readonly<Record<string, string>>> {
  if (await create(context, output)) return output.data;
  const found = await read(context, output);
  if (found !== undefined) return found;
  throw new SourceError('conflict', `${titleOf(context.owner, output)} was removed meanwhile.`);
}

async function apply(context: Context, output: Output): Promise<'created' | 'corrected' | 'unchanged'> {
  const { owner } = context;
  const known = output.wasMade === true ? await find(context, output) : undefined;
  if (known === undefined && (await create(context, output))) return 'created';
  const wanted = wantedOf(owner, output);
  const found = known ?? (await find(context, output));
  if (found === undefined) throw new SourceError('conflict', `${titleOf(owner, output)} was removed meanwhile.`);
  requireOurs(owner, output, found);
  if (isEqual(found, wanted)) return 'unchanged';
  await correct(context, output, found, wanted);
  return 'corrected';
}

/** False where there is one of that name. */
async function create({ cluster, owner, signal }: Context, output: Output): Promise<boolean> {
  try {
    const path = `${collectionOf(owner, output)}?fieldManager=${FIELD_MANAGER}`;
    await cluster.request({ method: 'POST', path, body: wantedOf(owner, output), signal });
    return true;
  } catch (error) {
    if (!isReason(error, 'AlreadyExists')) throw error;
    return false;
  }
}

async function read(context: Context, named: Named): Promise<Readonly<Record<string, string>> | undefined> {
  const found = await find(context, named);
  if (found === undefined) return undefined;
  requireOurs(context.owner, named, found);
  const entries = Object.entries(found.data ?? {});
  const decode = named.kind === 'Secret' ? (value: string) => Buffer.from(value, 'base64').toString() : String;
  return Object.fromEntries(entries.map(([key, value]) => [key, decode(value)]));
}

/** Garbage collection takes what has an owner that is gone. */
async function retain(context: Context, named: Named): Promise<void> {
  const { cluster, owner, signal } = context;
  const found = await find(context, named);
  if (found === undefined || !isOurs(owner, found)) return;
  const { resourceVersion, ownerReferences = [] } = found.metadata;
  const body = {
    metadata: {
      resourceVersion,
      ownerReferences: ownerReferences.filter(({ controller }) => controller !== true),
    },
  };
  const path = `${pathOf(owner, named)}?fieldManager=${FIELD_MANAGER}`;
  await cluster.request({ method: 'PATCH', path, contentType: MERGE, body, signal });
}

async function remove(context: Context, named: Named): Promise<void> {
  const { cluster, owner, signal } = context;
  const found = await find(context, named);
  // A stranger's stays: nothing of ours is there.
  if (found === undefined || !isOurs(owner, found)) return;
  await deleteAsFound(cluster, pathOf(owner, named), found, signal);
}

/** Says what is ours for good; what this cannot take away goes first. */
async function correct(context: Context, output: Output, found: Stored, wanted: Wanted): Promise<void> {
  const { cluster, owner, signal } = context;
  const path = pathOf(owner, output);
  const { uid, resourceVersion, ownerReferences = [] } = found.metadata;
  const strays = Object.keys(found.data ?? {}).filter((key) => !Object.hasOwn(wanted.data, key));
  const hasFormerOwner = controllerOf(found)?.uid !== owner.metadata.uid;
  if (strays.length > 0 || hasFormerOwner) {
    const others = ownerReferences.filter(({ controller }) => controller !== true);
    const body = {
      metadata: {
        resourceVersion,
        ownerReferences: [...others, ...wanted.metadata.ownerReferences],
      },
      data: Object.fromEntries(strays.map((key) => [key, null])),
    };
    const query = `?fieldManager=${FIELD_MANAGER}`;
    await cluster.request({ method: 'PATCH', path: `${path}${query}`, contentType: MERGE, body, signal });
  }
  const body = { ...wanted, metadata: { ...wanted.metadata, uid } };
  const query = `?fieldManager=${FIELD_MANAGER}&force=true`;
  await cluster.request({ method: 'PATCH', path: `${path}${query}`, contentType: APPLY, body, signal });
}

const find = ({ cluster, owner, signal }: Context, named: Named): Promise<Stored | undefined> =>
  orUndefined(cluster.request<Stored>({ method: 'GET', path: pathOf(owner, named), signal }));

type Wanted = ReturnType<typeof wantedOf>;

function wantedOf(owner: Resource, { kind, name, data }: Output) {
  const encode = kind === 'Secret' ? (value: string) => Buffer.from(value).toString('base64') : String;
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      namespace: owner.metadata.namespace,
      labels: MANAGED_BY_US,
      annotations: { [MADE_FOR]: nameOf(owner) },
      ownerReferences: [referenceTo(owner)],
    },
    ...(kind === 'Secret' && { type: 'Opaque' }),
    data: Object.fromEntries(Object.entries(data).map(([key, value]): [string, string] => [key, encode(value)])),
  };
}

const referenceTo = ({ apiVersion, kind, metadata: { name, uid } }: Resource): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true,
});

/** What others add to the metadata is theirs; the data is ours alone. */
const isEqual = (found: Stored, wanted: Wanted): boolean =>
  isDeepStrictEqual(found.data ?? {}, wanted.data) &&
  isDeepStrictEqual(controllerOf(found), wanted.metadata.ownerReferences[0]);

function requireOurs(owner: Resource, named: Named, found: Stored): void {
  if (isOurs(owner, found)) return;
  throw new SourceError(
    'foreign',
    `${titleOf(owner, named)} was not made for ${owner.kind} ${owner.metadata.name}. Remove it, or choose another name.`,
  );
}

/** Of this object or, where it was kept or the cluster restored, of the one that had its name before. */
function isOurs(owner: Resource, found: Stored): boolean {
  if (!isMadeByUs(found)) return false;
  const controller = controllerOf(found);
  if (controller === undefined) return found.metadata.annotations?.[MADE_FOR] === nameOf(owner);
  return isOfOurGroup(controller) && controller.kind === owner.kind && controller.name === owner.metadata.name;
}

const nameOf = ({ kind, metadata }: Resource): string => `${kind}/${metadata.name}`;

const collectionOf = (owner: Resource, { kind }: Named): string => corePath(plurals[kind], owner.metadata.namespace);

const pathOf = (owner: Resource, { kind, name }: Named): string =>
  corePath(plurals[kind], owner.metadata.namespace, name);

const titleOf = (owner: Resource, { kind, name }: Named): string => `${kind} ${owner.metadata.namespace}/${name}`;
