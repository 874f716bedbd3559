// The life of a CA certificate.
import { defineLifecycle, type StateOf } from './lifecycle.ts';

/** `pending`: the key or the CSR is made, the certificate is not there yet. */
export const signingCertLifecycle = defineLifecycle({
  pending: ['active'],
  active: ['revoked'],
  revoked: [],
});
export type SigningCertState = StateOf<typeof signingCertLifecycle>;
