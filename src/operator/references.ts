// References between objects: whom one names, whether it may, and who has to look again when that one changes.
import {
  type KindName,
  keyOf,
  keyText,
  type Reference,
  type Resource,
  type ResourceKey,
} from '../resources/resource.ts';
import { isReady, wasReady } from './conditions.ts';
import { type OperatorContext, type Outcome, type Referrers, referenced } from './reconciler.ts';

type Expression = {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
};
type Selector = {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Expression[];
};
type Permission = { readonly from: 'Same' | 'All' | 'Selector'; readonly selector?: Selector };
/** A kind that others refer to says who may. */
type Referee = Resource<KindName, { readonly allowedNamespaces?: Permission }>;

type Found<R> = { readonly found: R; readonly outcome?: undefined };
type NotFound = { readonly found?: undefined; readonly outcome: Exclude<Outcome, { outcome: 'done' }> };

/**
 * The object that a reference names, ready and permitted; else what to wait for. What lies in another namespace and is not
 * permitted looks like what does not exist, so that nobody learns what is there.
 */
export function referee<R extends Referee>(
  operator: OperatorContext,
  from: Resource,
  kind: R['kind'],
  reference: Reference,
): Found<R> | NotFound {
  const key = referenced(kind, from, reference);
  const title = `${kind} ${key.namespace}/${key.name}`;
  const object = operator.source.get(key) as R | undefined;
  if (object === undefined || !permits(operator, object, from.metadata.namespace)) {
    return key.namespace === from.metadata.namespace
      ? waiting('DependencyNotReady', `${title} does not exist yet; this object goes on as soon as it does.`)
      : waiting(
          'RefNotPermitted',
          `There is no ${title} that namespace ${from.metadata.namespace} may refer to: it has to exist, and its spec.allowedNamespaces has to let this namespace in.`,
        );
  }
  if (object.metadata.deletionTimestamp !== undefined) {
    return waiting('DependencyNotReady', `${title} is being deleted.`);
  }
  // Who is ready goes on with what was ready, and asks nothing new of it.
  const isUsable = isReady(object) || (wasReady(object) && isReady(from));
  if (!isUsable)
    return waiting(
      'DependencyNotReady',
      `${title} is not ready yet, for reasons that its conditions tell; this object goes on as soon as it is.`,
    );
  return { found: object };
}

const waiting = (reason: string, message: string): NotFound => ({ outcome: { outcome: 'wait', reason, message } });

function permits({ source }: OperatorContext, { metadata, spec }: Referee, namespace: string): boolean {
  if (metadata.namespace === namespace) return true;
  const { from, selector } = spec.allowedNamespaces ?? { from: 'Same' };
  switch (from) {
    case 'Same':
      return false;
    case 'All':
      return true;
    case 'Selector': {
      const labels = source.namespace(namespace)?.labels;
      return labels !== undefined && selector !== undefined && matches(selector, labels);
    }
  }
}

/** metav1.LabelSelector: everything in it holds. */
function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Readonly<Record<string, string>>) {
  const label = (name: string): string | undefined => (Object.hasOwn(labels, name) ? labels[name] : undefined);
  const tests: Record<Expression['operator'], (value: string | undefined, values: readonly string[]) => boolean> = {
    In: (value, values) => value !== undefined && values.includes(value),
    NotIn: (value, values) => value === undefined || !values.includes(value),
    Exists: (value) => value !== undefined,
    DoesNotExist: (value) => value === undefined,
  };
  return (
    Object.entries(matchLabels).every(([name, value]) => label(name) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => tests[operator](label(key), values))
  );
}

/** Keys of objects under the names that they hold on to. */
export class KeyIndex {
  readonly #keys = new Map<string, Map<string, ResourceKey>>();

  add(name: string, key: ResourceKey): void {
    const keys = this.#keys.get(name) ?? new Map<string, ResourceKey>();
    keys.set(keyText(key), key);
    this.#keys.set(name, keys);
  }

  remove(name: string, key: ResourceKey): void {
    const keys = this.#keys.get(name);
    keys?.delete(keyText(key));
    if (keys?.size === 0) this.#keys.delete(name);
  }

  get(name: string): readonly ResourceKey[] {
    return [...(this.#keys.get(name)?.values() ?? [])];
  }
}

/** Who refers to whom, kept by what the source tells. */
export class ReferrerIndex implements Referrers {
  readonly #index = new KeyIndex();
  readonly #references: (resource: Resource) => readonly ResourceKey[];

  constructor(references: (resource: Resource) => readonly ResourceKey[]) {
    this.#references = references;
  }

  to(key: ResourceKey): readonly ResourceKey[] {
    return this.#index.get(keyText(key));
  }

  change(before: Resource | undefined, after: Resource | undefined): void {
    if (before !== undefined) this.#each(before, (name, key) => this.#index.remove(name, key));
    if (after !== undefined) this.#each(after, (name, key) => this.#index.add(name, key));
  }

  #each(resource: Resource, work: (name: string, key: ResourceKey) => void): void {
    for (const target of this.#references(resource)) work(keyText(target), keyOf(resource));
  }
}
