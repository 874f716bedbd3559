// The life of an order.
import { defineLifecycle, type StateOf } from './lifecycle.ts';

/** RFC 8555 section 7.1.6, plus processing -> ready: nothing was signed and the signing key is gone for good (FIN-12). */
export const orderLifecycle = defineLifecycle({
  pending: ['ready', 'invalid'],
  ready: ['processing', 'invalid'],
  processing: ['valid', 'ready', 'invalid'],
  valid: [],
  invalid: [],
});
export type OrderState = StateOf<typeof orderLifecycle>;
