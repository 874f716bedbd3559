// Challenges as ACME clients see them, and the response that asks for a validation.
import type { ChallengeState, ChallengeType } from '../lifecycles/challenge.ts';
import type { ChallengeRow } from '../store/authorizations.ts';
import { beginValidation, type FoundChallenge, findChallenge, hastenValidation } from '../store/challenges.ts';
import type { StoredProblem } from '../store/tables.ts';
import { AcmeError } from './acme-error.ts';
import { type Applicant, type Found, holderOf, own } from './applicant.ts';
import { authorizationState } from './authorization-state.ts';
import type { Ca } from './ca.ts';
import { challengeOffers } from './challenge-offers.ts';
import { hastenedFailures, hastenedMs } from './challenge-retries.ts';
import { firstTry } from './first-try.ts';
import { failureBuckets, requireFailuresLeft } from './rate-limits.ts';

export type AcmeChallenge = {
  readonly id: string;
  readonly type: ChallengeType;
  readonly state: ChallengeState;
  readonly token: string;
  /** Of a valid one. */
  readonly validatedAt: Date | undefined;
  /** Of an invalid one (CHA-8). */
  readonly error: StoredProblem | undefined;
};

export type SingleAcmeChallenge = AcmeChallenge & {
  readonly authorizationId: string;
  /** While its validation runs (AUT-5). */
  readonly retryAfterSeconds: number | undefined;
};

const RETRY_AFTER_SECONDS = 1;
const RETRY_LATER_SECONDS = 3;

/** A challenge by its uuid; undefined for one of another account. */
export const readFoundChallenge = async (ca: Ca, accountId: string, id: string | undefined): Found<FoundChallenge> =>
  id === undefined
    ? undefined
    : findChallenge(ca.database.db, { id, accountId, now: ca.clock.now(), failures: failureBuckets(ca) });

/** A challenge of the account by its uuid. Throws `malformed` (404) for every other. */
export async function getChallenge(
  ca: Ca,
  applicant: Applicant,
  id: string | undefined,
  found = readFoundChallenge(ca, applicant.account.id, id),
): Promise<SingleAcmeChallenge> {
  return singleChallenge(await own('challenge', applicant, found), ca.clock.now());
}

/**
 * The client is ready to be validated: with the key authorization of the account's key and the kid of this request
 * (KEY-6) the challenge is tried at once by the worker of this process, else it is `processing` for any worker. One that
 * is valid or processing stays so (CHA-4). Throws `malformed` where the authorization has ended (CHA-5), `rateLimited`
 * where validations of its name failed too often (ORD-28), `malformed` with 404 for a challenge that is not the
 * account's. What begins it holds the authorization.
 */
export async function respondToChallenge(
  ca: Ca,
  applicant: Applicant & { readonly kid: string },
  id: string | undefined,
  found = readFoundChallenge(ca, applicant.account.id, id),
): Promise<SingleAcmeChallenge> {
  const seen = await own('challenge', applicant, found);
  if (seen.state !== 'pending') return responded(ca, seen);
  const response = {
    now: ca.clock.now(),
    thumbprint: applicant.account.thumbprint.toString('base64url'),
    accountUrl: applicant.kid,
    offered: challengeOffers,
    failures: failureBuckets(ca),
  };
  const holder = holderOf(applicant);
  const tried = await firstTry(ca, { holder, seen, response });
  const now = ca.clock.now();
  const begun = tried ?? (await beginValidation(ca.database.db, holder, seen.id, { ...response, now }))?.challenge;
  if (begun !== undefined) return singleChallenge(begun, now);
  return responded(ca, await own('challenge', applicant, readFoundChallenge(ca, applicant.account.id, id)));
}

/** One that the response begins nothing of. */
async function responded(ca: Ca, row: ChallengeRow): Promise<SingleAcmeChallenge> {
  const now = ca.clock.now();
  requireOpen(row, now);
  if (row.state === 'pending' && row.authorization_state === 'pending') await refuse(ca, row);
  if (row.state === 'processing') await hasten(ca, row.id, now);
  return singleChallenge(row, now);
}

export const acmeChallenge = ({ id, type, state, token, validated_at, error }: ChallengeRow): AcmeChallenge => ({
  id,
  type,
  state,
  token,
  validatedAt: validated_at ?? undefined,
  error: error ?? undefined,
});

/** When the client should look again; undefined where nothing is under way. */
export function retryAfterOf(row: ChallengeRow, now: Date): number | undefined {
  if (row.state !== 'processing' || stateOfAuthorization(row, now) !== 'pending') return undefined;
  return row.attempts > 1 ? RETRY_LATER_SECONDS : RETRY_AFTER_SECONDS;
}

/** Throws where the authorization has ended (CHA-5). */
function requireOpen(row: ChallengeRow, now: Date): void {
  const state = stateOfAuthorization(row, now);
  if (state !== 'pending' && state !== 'valid')
    throw new AcmeError('malformed', `The authorization of this challenge is ${state}; order anew.`);
}

/** Throws why a challenge could not be begun. */
async function refuse(ca: Ca, row: ChallengeRow): Promise<never> {
  await requireFailuresLeft(ca, row.acme_key_id, row.value);
  throw new AcmeError('malformed', `A challenge of type ${row.type} is not offered for this identifier.`);
}

const stateOfAuthorization = ({ authorization_state: state, expires_at }: ChallengeRow, now: Date) =>
  authorizationState({ state, expires_at }, now);

const singleChallenge = (row: ChallengeRow, now: Date): SingleAcmeChallenge => ({
  ...acmeChallenge(row),
  authorizationId: row.authorization_id,
  retryAfterSeconds: retryAfterOf(row, now),
});

const hasten = (ca: Ca, id: string, now: Date): Promise<void> =>
  hastenValidation(ca.database.db, id, new Date(now.getTime() + hastenedMs), hastenedFailures);
