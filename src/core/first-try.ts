// The first try to validate a challenge, by the worker of this process, before anything is written of it: most succeed
// while the client waits, and are one write then. After a crash the challenge is as it was, and the client, who has no
// answer, sends his response again.
import type { Holder } from '../store/acme-orders.ts';
import type { ChallengeRow } from '../store/authorizations.ts';
import { beginValidation, type FoundChallenge, type Response } from '../store/challenges.ts';
import type { Ca } from './ca.ts';
import type { ChallengePlace, ChallengeTry } from './own-worker.ts';
import { obstacleOf } from './validate-challenge.ts';

/**
 * The challenge as it is once something is written of it: `valid`, or `processing` where that is not found soon. Undefined
 * where there was no try, or it left nothing written: the response is then as good as one that has just come.
 */
export async function firstTry(
  ca: Ca,
  holder: Holder,
  seen: FoundChallenge,
  response: Response,
): Promise<ChallengeRow | undefined> {
  const claim = {
    ...seen,
    state: seen.authorization_state,
    attempt: 0,
    failures: null,
    key_authorization: `${seen.token}.${response.thumbprint}`,
    account_url: response.accountUrl,
  };
  if (seen.state !== 'pending' || !seen.may_be_tried || obstacleOf(claim, response.now) !== undefined) return undefined;
  return ca.ownWorker.firstTry(seen.id, async () => {
    const place = ca.ownWorker.place();
    if (place === undefined) return undefined;
    const { begin, begun } = beginning(ca, holder, seen.id, response, place);
    const validatedAt = await Promise.race([place.fill({ ...claim, begin }), begun]);
    if (!(validatedAt instanceof Date)) return validatedAt;
    return { ...seen, state: 'valid', validated_at: validatedAt, authorization_state: 'valid' };
  });
}

/** What makes it a challenge under lease, and what the challenge is from then on. */
function beginning(ca: Ca, holder: Holder, id: string, response: Response, { leaseMs }: ChallengePlace) {
  const { promise: begun, resolve, reject } = Promise.withResolvers<ChallengeRow | undefined>();
  const begin: ChallengeTry['begin'] = async () => {
    const now = ca.clock.now();
    const leaseUntil = new Date(now.getTime() + leaseMs);
    const beginning = beginValidation(ca.database.db, holder, id, { ...response, now }, leaseUntil);
    beginning.then((row) => resolve(row?.challenge), reject);
    return (await beginning)?.claim;
  };
  return { begin, begun };
}
