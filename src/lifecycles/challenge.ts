// The life of a challenge, and the types of challenge there are.
import { defineLifecycle, type StateOf } from './lifecycle.ts';

/** RFC 8555 section 7.1.6; valid at once where the first try is over before anything is written of it. */
export const challengeLifecycle = defineLifecycle({
  pending: ['processing', 'valid'],
  processing: ['valid', 'invalid'],
  valid: [],
  invalid: [],
});
export type ChallengeState = StateOf<typeof challengeLifecycle>;

/** In the order in which an authorization offers them: DAC-1 wants dns-account-01 last. */
export const challengeTypes = ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01'] as const;
export type ChallengeType = (typeof challengeTypes)[number];
