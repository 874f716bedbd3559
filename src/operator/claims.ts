// Names that only one object can hold: who claims which, and who came first.
import { keyOf, type Resource, type ResourceKey } from '../resources/resource.ts';
import type { ResourceSource } from './ports.ts';
import type { Claimants } from './reconciler.ts';
import { KeyIndex } from './references.ts';

/** Kept by what the source tells. */
export class ClaimIndex implements Claimants {
  readonly #index = new KeyIndex();
  readonly #claims: (resource: Resource) => readonly string[];

  constructor(claims: (resource: Resource) => readonly string[]) {
    this.#claims = claims;
  }

  of(claim: string): readonly ResourceKey[] {
    return this.#index.get(claim);
  }

  /** Gives what was let go. */
  change(before: Resource | undefined, after: Resource | undefined): readonly string[] {
    const held = before === undefined ? [] : this.#claims(before);
    const wanted = after === undefined ? [] : this.#claims(after);
    const released = held.filter((claim) => !wanted.includes(claim));
    if (before !== undefined) for (const claim of released) this.#index.remove(claim, keyOf(before));
    if (after !== undefined)
      for (const claim of wanted) if (!held.includes(claim)) this.#index.add(claim, keyOf(after));
    return released;
  }
}

/**
 * Somebody who claims it and was there before this object. One that is going has no claim; nor has one that cannot have it
 * now against one that can: else anybody could keep names from others by objects that will never come to be.
 */
export function earlierClaimant<R extends Resource>(
  { source, claimants }: { readonly source: Pick<ResourceSource, 'get'>; readonly claimants: Claimants },
  resource: R,
  claim: string,
  canHaveIt: (one: R) => boolean,
): R | undefined {
  const isWaiting = !canHaveIt(resource);
  return claimants
    .of(claim)
    .map((key) => source.get(key) as R | undefined)
    .find((other) => other !== undefined && isEarlier(other, resource) && (isWaiting || canHaveIt(other)));
}

function isEarlier({ metadata: one }: Resource, { metadata: other }: Resource): boolean {
  if (one.uid === other.uid || one.deletionTimestamp !== undefined) return false;
  return ageOf(one) < ageOf(other);
}

const ageOf = ({ creationTimestamp, namespace, name }: Resource['metadata']): string =>
  `${creationTimestamp} ${namespace}/${name}`;
