// The first try to validate a challenge, by the worker of this process, before anything is written of it: most succeed
// while the client waits, and are one write then. After a crash the challenge is as it was, and the client, who has no
// answer, sends his response again.
import type { Holder } from '../store/acme-orders.ts';
import type { ChallengeRow } from '../store/authorizations.ts';
import { beginValidation, type FoundChallenge, findChallenge, type Response } from '../store/challenges.ts';
import { stopwatch } from '../telemetry/stopwatch.ts';
import type { Ca } from './ca.ts';
import { lookFor, lookUpCaa, obstacleOf } from './challenge-look.ts';
import { type ChallengeClaim, challengeMet } from './challenge-results.ts';
import { OwnSignal } from './own-signal.ts';
import type { ChallengePlace } from './own-worker.ts';
import { withinMs } from './patience.ts';
import { noteFailure } from './rate-limits.ts';
import { tellTry } from './validate-challenge.ts';

/** Most looks are over by then. */
const PATIENCE_MS = 250;

type Asked = {
  readonly holder: Holder;
  /** Pending. */
  readonly seen: FoundChallenge;
  readonly response: Response;
};

/**
 * The challenge as it is once something is written of it: `valid`, or `processing` where it is not met that soon.
 * Undefined where there was no try, or nothing came of it to be written.
 */
export async function firstTry(ca: Ca, asked: Asked): Promise<ChallengeRow | undefined> {
  const { seen, response } = asked;
  const claim = {
    ...seen,
    state: seen.authorization_state,
    attempt: 0,
    failures: null,
    key_authorization: `${seen.token}.${response.thumbprint}`,
    account_url: response.accountUrl,
  };
  if (!seen.may_be_tried || obstacleOf(claim, response.now) !== undefined) return undefined;
  return ca.ownWorker.firstTry(`${claim.key_authorization} ${claim.account_url}`, async () => {
    const place = ca.ownWorker.place();
    if (place === undefined) return undefined;
    const { promise: begun, resolve } = Promise.withResolvers<ChallengeRow>();
    return Promise.race([place.hold((signal) => tryIn(ca, place, { ...asked, claim, begun: resolve }, signal)), begun]);
  });
}

type Trying = Asked & {
  readonly claim: ChallengeClaim;
  /** Told of the challenge when it is under lease. */
  readonly begun: (challenge: ChallengeRow) => void;
};

async function tryIn(
  ca: Ca,
  place: ChallengePlace,
  { holder, seen, response, claim, begun }: Trying,
  ending: AbortSignal,
): Promise<ChallengeRow | undefined> {
  const elapsedMs = stopwatch();
  using own = new OwnSignal(ending);
  const { signal } = own;
  // At the same time: it is asked of others, and the client waits for both.
  const caa = lookUpCaa(ca, claim, signal);
  // It may fail while the network is still asked, or for nobody.
  caa.catch(() => undefined);
  const finding = lookFor(ca, claim, signal, () => caa);
  try {
    const early = await withinMs(PATIENCE_MS, finding).catch(() => undefined);
    if (early?.outcome === 'met') {
      const validatedAt = await challengeMet(ca, claim, early.caaCheckedAt);
      tellTry(ca, claim, { outcome: validatedAt === undefined ? 'dropped' : 'valid' }, elapsedMs());
      if (validatedAt === undefined) return undefined;
      return { ...seen, state: 'valid', validated_at: validatedAt, authorization_state: 'valid' };
    }
    const now = ca.clock.now();
    const leaseUntil = new Date(now.getTime() + place.leaseMs);
    const begin = await beginValidation(ca.database.db, holder, seen.id, { ...response, now }, leaseUntil);
    if (begin?.claim !== undefined) {
      begun(begin.challenge);
      await place.run({ ...begin.claim, look: { finding, elapsedMs } });
      return begin.challenge;
    }
    tellTry(ca, claim, { outcome: 'dropped' }, elapsedMs());
    if (early?.outcome !== 'busy' && !ending.aborted) await countIfEnded(ca, holder, response, seen);
    return undefined;
  } finally {
    own.end(nobodyWaits);
    await Promise.allSettled([finding, caa]);
  }
}

/** Made once: without it each try would make an error of its own, with its stack. */
const nobodyWaits = new Error('Nobody waits any longer for what the challenge is looked for.');

/** Or whoever deactivates his authorization during each try could have a name looked for without end (ORD-28). */
async function countIfEnded(ca: Ca, { accountId }: Holder, response: Response, seen: FoundChallenge): Promise<void> {
  const { now, failures } = response;
  const row = await findChallenge(ca.database.db, { id: seen.id, accountId, now, failures });
  if (row?.authorization_state === 'deactivated') await noteFailure(ca, accountId, seen.value);
}
