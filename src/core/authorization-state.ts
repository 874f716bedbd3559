// The state that an authorization reads as, and which of its challenges are shown in it.
import type { AuthorizationState } from '../lifecycles/authorization.ts';
import type { ChallengeState } from '../lifecycles/challenge.ts';

type Timed = { readonly state: AuthorizationState; readonly expires_at: Date };

/** Time moves no row: what is past its end has expired all the same. */
export const authorizationState = ({ state, expires_at }: Timed, now: Date): AuthorizationState =>
  (state === 'pending' || state === 'valid') && expires_at <= now ? 'expired' : state;

/** Those that say what became of it; where there are none, all that were offered. */
const telling: Readonly<Record<AuthorizationState, readonly ChallengeState[]>> = {
  pending: ['pending', 'processing'], // AUT-4: never one that failed
  valid: ['valid'],
  invalid: ['invalid'],
  deactivated: ['valid', 'invalid'],
  expired: ['valid'],
  revoked: ['valid'],
};

/** AUT-3. */
export function shownChallenges<Challenge extends { readonly state: ChallengeState }>(
  state: AuthorizationState,
  challenges: readonly Challenge[],
): readonly Challenge[] {
  const shown = challenges.filter((challenge) => telling[state].includes(challenge.state));
  return shown.length === 0 ? challenges : shown;
}
