// The life of an issued certificate.
import { defineLifecycle, type StateOf } from './lifecycle.ts';

/** Expiry is no move: time does not change rows, `expired` is worked out from not_after on reading. */
export const issuedCertLifecycle = defineLifecycle({
  valid: ['revoked'],
  revoked: [],
});
export type IssuedCertState = StateOf<typeof issuedCertLifecycle>;
