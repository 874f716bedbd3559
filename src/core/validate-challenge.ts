// The worker's task `challenge`: one try to validate a challenge, CAA included, and what is done next.
import { claimDueChallenges, dueChallenges, keepFailure } from '../store/challenge-results.ts';
import { type Claim, postponeDue } from '../store/due.ts';
import type { StoredProblem } from '../store/tables.ts';
import { stopwatch } from '../telemetry/stopwatch.ts';
import type { ChallengeTried } from '../telemetry/validation-events.ts';
import type { Ca } from './ca.ts';
import { checkCaa } from './caa.ts';
import { offeredChallenges } from './challenge-offers.ts';
import { type ChallengeClaim, challengeMet, challengeNotMet } from './challenge-results.ts';
import { retriesMs } from './challenge-retries.ts';
import { type Identifier, parseIdentifier } from './identifiers.ts';
import { formatId } from './ids.ts';
import type { ChallengeTry } from './own-worker.ts';
import { withinMs } from './patience.ts';
import type { Probe } from './ports.ts';
import { noteFailure } from './rate-limits.ts';
import { accountUrl } from './urls.ts';

/** Most first tries are over by then: a client hears what came of his, and need not ask. */
const PATIENCE_MS = 250;
const FIRST_BUSY_MS = 100;
const LONGEST_BUSY_MS = 5_000;

/** What a try came to. */
type Finding =
  | { readonly outcome: 'met'; readonly caaCheckedAt: Date | null }
  | { readonly outcome: 'busy' }
  | { readonly outcome: 'failed'; readonly problem: StoredProblem };

type Outcome = Pick<ChallengeTried, 'outcome' | 'problem'> & { readonly validatedAt?: Date };

/** Takes challenges that are due under a lease of this length. */
export const claimChallenges = (ca: Ca, limit: number, leaseMs: number): Promise<readonly ChallengeClaim[]> => {
  const now = ca.clock.now();
  return claimDueChallenges(ca.database.db, { now, leaseUntil: new Date(now.getTime() + leaseMs), limit });
};

/** Gives a challenge back, due at another time. Whoever lost his lease changes nothing. */
export const postponeChallenge = (ca: Ca, claim: Claim, dueAt: Date): Promise<void> =>
  postponeDue(ca.database.db, dueChallenges, claim, dueAt);

/**
 * Makes one try. A success is settled at once, a failure after the last try; before that the challenge is due again
 * later. One of which nothing is written yet is begun only where it needs to be. When the signal comes the challenge is given back. Locks nothing while it waits for the network. Gives when the
 * challenge was validated; undefined where this try did not do it.
 */
export async function validateChallenge(ca: Ca, claim: ChallengeTry, signal: AbortSignal): Promise<Date | undefined> {
  const elapsedMs = stopwatch();
  const { validatedAt, ...outcome } = await tryOnce(ca, claim, signal);
  ca.events.challengeTried({
    id: formatId('chal', claim.id),
    type: claim.type,
    identifier: claim.value,
    ...outcome,
    durationMs: elapsedMs(),
  });
  return validatedAt;
}

async function tryOnce(ca: Ca, { begin, ...claim }: ChallengeTry, signal: AbortSignal): Promise<Outcome> {
  if (begin !== undefined) return tryUnwritten(ca, claim, begin, signal);
  const obstacle = obstacleOf(claim, ca.clock.now());
  return obstacle === undefined ? conclude(ca, claim, lookFor(ca, claim, signal), signal) : giveUp(ca, claim, obstacle);
}

/** Is begun where it takes long or finds anything but success. */
async function tryUnwritten(
  ca: Ca,
  claim: ChallengeClaim,
  begin: Required<ChallengeTry>['begin'],
  signal: AbortSignal,
): Promise<Outcome> {
  const looking = lookFor(ca, claim, signal);
  const early = await withinMs(PATIENCE_MS, looking).catch(() => undefined);
  if (early?.outcome === 'met') {
    const validatedAt = await challengeMet(ca, claim, early.caaCheckedAt);
    return validatedAt === undefined ? dropped : { outcome: 'valid', validatedAt };
  }
  const begun = await begin();
  if (begun !== undefined) return conclude(ca, begun, looking, signal);
  // Or whoever ends his authorization meanwhile could have a name looked for without end (ORD-28).
  await noteFailure(ca, claim.acme_key_id, claim.value);
  return dropped;
}

const dropped: Outcome = {
  outcome: 'dropped',
  problem: 'The authorization of the challenge ended while it was being validated.',
};

async function conclude(
  ca: Ca,
  claim: ChallengeClaim,
  looking: Promise<Finding>,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const finding = await looking;
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

/** Why there is nothing to look for any more, or never was (AUT-8). */
export function obstacleOf(
  { type, state, expires_at, ...claim }: ChallengeClaim,
  now: Date,
): StoredProblem | undefined {
  if (state !== 'pending' || expires_at <= now)
    return { type: 'unauthorized', detail: 'The authorization of the challenge is no longer pending.' };
  if (!offeredChallenges(identifierOf(claim)).includes(type))
    return { type: 'unauthorized', detail: `${type} cannot validate ${claim.value}.` };
  return undefined;
}

/** CAA at the same time: it is asked of others, and the client waits for both. */
async function lookFor(ca: Ca, claim: ChallengeClaim, signal: AbortSignal): Promise<Finding> {
  const caa = checkCaaOf(ca, claim, signal);
  // Where control is not proved nobody cares.
  caa.catch(() => undefined);
  const found = await ca.prober(probeOf(claim), signal);
  switch (found.outcome) {
    case 'busy':
      return { outcome: 'busy' };
    case 'failed':
      return { outcome: 'failed', problem: { type: found.type, detail: found.detail } };
    case 'valid':
      return caa;
  }
}

async function checkCaaOf(ca: Ca, claim: ChallengeClaim, signal: AbortSignal): Promise<Finding> {
  const identifier = identifierOf(claim);
  // CAA-12.
  if (identifier.type === 'ip') return { outcome: 'met', caaCheckedAt: null };
  const caaCheckedAt = ca.clock.now();
  const accountUrls = claim.slugs.map((slug) => accountUrl(ca.urls, slug, claim.acme_key_id));
  const policy = { caaTag: claim.caa_tag, onMissingCaa: claim.on_missing_caa, accountUrls };
  const [finding] = await checkCaa(ca, policy, [{ identifier, methods: [claim.type] }], signal);
  return finding?.verdict.allowed === true
    ? { outcome: 'met', caaCheckedAt }
    : { outcome: 'failed', problem: { type: 'caa', detail: finding?.verdict.detail ?? 'CAA was not looked up.' } };
}

async function succeed(ca: Ca, claim: ChallengeClaim, caaCheckedAt: Date | null): Promise<Outcome> {
  const validatedAt = await challengeMet(ca, claim, caaCheckedAt);
  if (validatedAt !== undefined) return { outcome: 'valid', validatedAt };
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

const probeOf = (claim: ChallengeClaim): Probe => ({
  type: claim.type,
  identifier: { type: claim.identifier_type, value: claim.value },
  token: claim.token,
  keyAuthorization: claim.key_authorization,
  accountUrl: claim.account_url,
  directoryId: claim.directory_id,
});

/** As it was ordered. */
function identifierOf({
  identifier_type: type,
  value,
  wildcard,
}: Pick<ChallengeClaim, 'identifier_type' | 'value' | 'wildcard'>): Identifier {
  const parsed = parseIdentifier({ type, value: wildcard ? `*.${value}` : value });
  if (!parsed.ok) throw new Error(`an authorization is for ${type} ${value}, which cannot be ordered`);
  return parsed.identifier;
}
