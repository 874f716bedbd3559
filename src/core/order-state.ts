// The state that an order reads as: events move rows, time does not.
import type { OrderState } from '../lifecycles/order.ts';
import type { StoredProblem } from '../store/tables.ts';

/** An open order past its end is invalid all the same (ORD-19). */
export const orderState = (
  { state, expires_at }: { readonly state: OrderState; readonly expires_at: Date },
  now: Date,
): OrderState => ((state === 'pending' || state === 'ready') && expires_at <= now ? 'invalid' : state);

/** Why an open order past its end is invalid (ORD-26). */
export const orderExpired = (expiresAt: string): StoredProblem => ({
  type: 'unauthorized',
  detail: `The order was not finalized before it expired on ${expiresAt}; order anew.`,
});
