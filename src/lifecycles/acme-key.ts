// The life of an account key: the account of RFC 8555.
import { defineLifecycle, type StateOf } from './lifecycle.ts';

/** `deactivated` is done by the ACME client, `revoked` through /v1 or a custom resource. */
export const acmeKeyLifecycle = defineLifecycle({
  valid: ['deactivated', 'revoked'],
  deactivated: [],
  revoked: [],
});
export type AcmeKeyState = StateOf<typeof acmeKeyLifecycle>;
