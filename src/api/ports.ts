// What the /v1 door needs from outside.
import type { Permission } from '../core/caller.ts';

/** `permission` is undefined where the caller is known and may do nothing here. */
type ReviewedCaller = {
  /** Such as `system:serviceaccount:shop:deployer`. */
  readonly name: string;
  readonly permission: Permission | undefined;
};

export type Review =
  | { readonly outcome: 'known'; readonly caller: ReviewedCaller }
  | { readonly outcome: 'unknown' }
  /** Nobody can tell now; never taken for a yes. `detail` says what does not answer. */
  | { readonly outcome: 'unavailable'; readonly detail: string };

/** Says whose bearer token of the cluster this is. Never rejects but for the signal. */
export type CallerReview = {
  review(token: string, signal: AbortSignal): Promise<Review>;
};
