// Secrets that are written for objects: what to say where one of that name is somebody else's, and what a new name leaves.
import type { Resource } from '../resources/resource.ts';
import { SourceError } from './ports.ts';
import type { OperatorContext } from './reconciler.ts';

type SecretVisit = {
  readonly resource: Resource;
  readonly signal: AbortSignal;
  readonly status: { readonly secretName?: string };
  comeBackAt(time: Date): void;
};

/** A Secret is not watched, so it is looked at again soon. */
const AGAIN_MS = 30_000;

export type SecretConflict = { readonly reason: 'SecretConflict'; readonly message: string };

/** What the work on a Secret gives, or what to say where one of that name is not ours. */
export async function ownSecret<Result>(
  { ca }: OperatorContext,
  visit: SecretVisit,
  name: string,
  work: () => Promise<Result>,
): Promise<
  { readonly result: Result; readonly conflict?: undefined } | { readonly conflict: SecretConflict; result?: undefined }
> {
  try {
    return { result: await work() };
  } catch (error) {
    if (!(error instanceof SourceError) || error.refusal !== 'foreign') throw error;
    visit.comeBackAt(new Date(ca.clock.now().getTime() + AGAIN_MS));
    const title = `${visit.resource.metadata.namespace}/${name}`;
    const message = `Secret ${title} is there, and was not made for this object. Delete it, or name another Secret in the spec.`;
    return { conflict: { reason: 'SecretConflict', message } };
  }
}

/** Removes the Secret of the earlier name, unless it has become somebody else's. */
export async function replacedSecretRemoved(
  { outputs }: OperatorContext,
  { resource, status, signal }: SecretVisit,
  name: string,
): Promise<void> {
  const { secretName: earlier } = status;
  if (earlier !== undefined && earlier !== name)
    await outputs.remove(resource, { kind: 'Secret', name: earlier }, signal);
}
