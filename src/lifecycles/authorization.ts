// The life of an authorization.
import { defineLifecycle, type StateOf } from './lifecycle.ts';

/** RFC 8555 section 7.1.6; `pending -> deactivated` is AUT-6, `pending -> expired` the sweeper's. */
export const authorizationLifecycle = defineLifecycle({
  pending: ['valid', 'invalid', 'deactivated', 'expired'],
  valid: ['expired', 'deactivated', 'revoked'],
  invalid: [],
  deactivated: [],
  expired: [],
  revoked: [],
});
export type AuthorizationState = StateOf<typeof authorizationLifecycle>;
