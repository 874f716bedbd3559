// A copy of what clients of a Directory have to trust, where somebody collects it from all of them.
import type { DirectoryResource } from '../resources/directory-resource.ts';
import { trustOf } from './directory-trust.ts';
import { SourceError } from './ports.ts';
import { done, type Step } from './reconciler.ts';
import { LOOK_AGAIN_MS } from './user-secret.ts';

/** A Directory whose root is not known has nothing to collect: a copy without roots would hold up all others. */
export const trustMirrored: Step<DirectoryResource> = async (operator, visit) => {
  const { trustMirror: mirror } = operator;
  const { resource, status, signal } = visit;
  if (mirror === undefined || (mirror.isTold(resource) && !visit.isThorough)) return done;
  try {
    const data = await trustOf(operator, status);
    if (data['roots.pem'] === undefined) await mirror.remove(resource, signal);
    else await mirror.publish(resource, data, signal);
    return done;
  } catch (error) {
    if (!(error instanceof SourceError) || error.refusal !== 'foreign') throw error;
    visit.comeBackAt(new Date(operator.ca.clock.now().getTime() + LOOK_AGAIN_MS));
    return { outcome: 'stalled', reason: 'ConfigMapConflict', message: error.message };
  }
};

export const mirrorRemoved: Step<DirectoryResource> = async ({ trustMirror }, { resource, signal }) => {
  await trustMirror?.remove(resource, signal);
  return done;
};
