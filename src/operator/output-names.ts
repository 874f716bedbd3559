// Names of Secrets and other things that follow from the name of an object where its spec says nothing.
import type { Outcome } from './reconciler.ts';
import { done } from './reconciler.ts';

/** Of Kubernetes. */
export const LONGEST_NAME = 253;

/** Stalled where a name that nobody wrote is too long; what is in the spec was checked with it. */
export const fits = (field: string, usual: string, longest: number): Outcome =>
  usual.length <= longest
    ? done
    : {
        outcome: 'stalled',
        reason: 'InvalidSpec',
        message: `spec.${field} is absent, and ${usual}, which it would be then, has ${usual.length} characters; at most ${longest} fit. Name one.`,
      };
