// The worker's task `challenge`: one try to validate a challenge, CAA included, and what is done next.
import { claimDueChallenges, dueChallenges, keepFailure } from '../store/challenge-results.ts';
import { type Claim, postponeDue } from '../store/due.ts';
import type { StoredProblem } from '../store/tables.ts';
import { stopwatch } from '../telemetry/stopwatch.ts';
import type { ChallengeTried } from '../telemetry/validation-events.ts';
import type { Ca } from './ca.ts';
import { type Finding, lookFor, obstacleOf } from './challenge-look.ts';
import { type ChallengeClaim, challengeMet, challengeNotMet } from './challenge-results.ts';
import { retriesMs } from './challenge-retries.ts';
import { formatId } from './ids.ts';
import { noteFailure } from './rate-limits.ts';

const FIRST_BUSY_MS = 100;
const LONGEST_BUSY_MS = 5_000;

type Outcome = Pick<ChallengeTried, 'outcome' | 'problem'>;

/** Takes challenges that are due under a lease of this length. */
export const claimChallenges = (ca: Ca, limit: number, leaseMs: number): Promise<readonly ChallengeClaim[]> => {
  const now = ca.clock.now();
  return claimDueChallenges(ca.database.db, { now, leaseUntil: new Date(now.getTime() + leaseMs), limit });
};

/** Gives a challenge back, due at another time. Whoever lost his lease changes nothing. */
export const postponeChallenge = (ca: Ca, claim: Claim, dueAt: Date): Promise<void> =>
  postponeDue(ca.database.db, dueChallenges, claim, dueAt);

/** A challenge under lease. */
export type ChallengeTry = ChallengeClaim & {
  /** What began before there was a lease. */
  readonly look?: { readonly finding: Promise<Finding>; readonly elapsedMs: () => number };
};

/**
 * Makes one try. A success is settled at once, a failure after the last try; before that the challenge is due again
 * later. When the signal comes the challenge is given back. Locks nothing while it waits for the network.
 */
export async function validateChallenge(ca: Ca, { look, ...claim }: ChallengeTry, signal: AbortSignal): Promise<void> {
  const elapsedMs = look?.elapsedMs ?? stopwatch();
  tellTry(ca, claim, await tryOnce(ca, claim, look?.finding, signal), elapsedMs());
}

export function tellTry(ca: Ca, { id, type, value }: ChallengeClaim, outcome: Outcome, durationMs: number): void {
  ca.events.challengeTried({ id: formatId('chal', id), type, identifier: value, ...outcome, durationMs });
}

async function tryOnce(
  ca: Ca,
  claim: ChallengeClaim,
  begun: Promise<Finding> | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  const obstacle = obstacleOf(claim, ca.clock.now());
  if (obstacle !== undefined) return giveUp(ca, claim, obstacle);
  try {
    const finding = await (begun ?? lookFor(ca, claim, signal));
    switch (finding.outcome) {
      case 'met':
        return await succeed(ca, claim, finding.caaCheckedAt);
      case 'busy':
        return await postpone(ca, claim, busyWaitMs(claim));
      case 'failed':
        return await fail(ca, claim, finding.problem);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return postpone(ca, claim, 0);
  }
}

async function succeed(ca: Ca, claim: ChallengeClaim, caaCheckedAt: Date | null): Promise<Outcome> {
  if ((await challengeMet(ca, claim, caaCheckedAt)) !== undefined) return { outcome: 'valid' };
  return giveUp(ca, claim, {
    type: 'unauthorized',
    detail: 'The authorization of the challenge ended while it was being validated.',
  });
}

async function fail(ca: Ca, claim: ChallengeClaim, problem: StoredProblem): Promise<Outcome> {
  const failures = claim.failures ?? [];
  const waitMs = retriesMs[failures.length];
  if (waitMs === undefined) {
    const outcome = await giveUp(ca, claim, { ...problem, subproblems: [...failures, problem] });
    if (outcome.outcome === 'invalid') await noteFailure(ca, claim.acme_key_id, claim.value);
    return outcome;
  }
  const isKept = await keepFailure(ca.database.db, claim, problem, laterBy(ca, waitMs));
  return { outcome: isKept ? 'retried' : 'dropped', problem: problem.detail };
}

async function giveUp(ca: Ca, claim: ChallengeClaim, error: StoredProblem): Promise<Outcome> {
  return { outcome: (await challengeNotMet(ca, claim, error)) ? 'invalid' : 'dropped', problem: error.detail };
}

async function postpone(ca: Ca, claim: ChallengeClaim, waitMs: number): Promise<Outcome> {
  await postponeChallenge(ca, claim, laterBy(ca, waitMs));
  return { outcome: 'postponed' };
}

/** Longer each time, so that those that wait for a slow target cost the less the longer they wait. */
const busyWaitMs = ({ attempt, failures }: ChallengeClaim): number =>
  Math.min(FIRST_BUSY_MS * 2 ** (attempt - 1 - (failures?.length ?? 0)), LONGEST_BUSY_MS);

const laterBy = ({ clock }: Ca, ms: number): Date => new Date(clock.now().getTime() + ms);
