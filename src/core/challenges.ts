// Challenges as ACME clients see them, and the response that asks for a validation.
import type { ChallengeState, ChallengeType } from '../lifecycles/challenge.ts';
import type { Holder } from '../store/acme-orders.ts';
import { type ChallengeRow, findChallenge } from '../store/authorizations.ts';
import { beginValidation, hastenValidation, type Response } from '../store/challenges.ts';
import type { StoredProblem } from '../store/tables.ts';
import { AcmeError } from './acme-error.ts';
import { type Applicant, type Found, holderOf, own } from './applicant.ts';
import { authorizationState } from './authorization-state.ts';
import type { Ca } from './ca.ts';
import { challengeOffers } from './challenge-offers.ts';
import { hastenedFailures, hastenedMs } from './challenge-retries.ts';
import { withinMs } from './patience.ts';
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

/** Most first tries are over by then: the client hears what came of his, and need not ask. */
const PATIENCE_MS = 250;
const RETRY_AFTER_SECONDS = 1;
const RETRY_LATER_SECONDS = 3;

/** A challenge of the account by its uuid. Throws `malformed` (404) for every other. */
export async function getChallenge(ca: Ca, applicant: Applicant, id: string | undefined): Promise<SingleAcmeChallenge> {
  return singleChallenge(await readChallenge(ca, applicant, id), ca.clock.now());
}

/**
 * The client is ready to be validated: pending -> processing with the key authorization of the account's key and the kid
 * of this request (KEY-6). One that is valid or processing stays so (CHA-4). Throws `malformed` where the authorization
 * has ended (CHA-5), `rateLimited` where validations of its name failed too often (ORD-28), `malformed` with 404 for a challenge that is not the account's. Holds the authorization.
 */
export async function respondToChallenge(
  ca: Ca,
  applicant: Applicant & { readonly kid: string },
  id: string | undefined,
): Promise<SingleAcmeChallenge> {
  const now = ca.clock.now();
  const response = {
    now,
    thumbprint: applicant.account.thumbprint.toString('base64url'),
    accountUrl: applicant.kid,
    offered: challengeOffers,
    failures: failureBuckets(ca),
  };
  const begun = id && (await begin(ca, holderOf(applicant), id, response));
  if (begun) return afterFirstTry(ca, begun);
  const row = await readChallenge(ca, applicant, id);
  if (row.state === 'pending') await requireFailuresLeft(ca, applicant.account.id, row.value);
  requireGoing(row, now);
  if (row.state === 'processing') await hasten(ca, row.id, now);
  return singleChallenge(row, now);
}

type Begun = {
  readonly challenge: ChallengeRow;
  /** By the worker of this process, where he has room: when he found it valid. */
  readonly firstTry: Promise<Date | undefined> | undefined;
};

async function begin(ca: Ca, holder: Holder, id: string, response: Response): Promise<Begun | undefined> {
  const place = ca.ownWorker.place();
  const leaseUntil = place && new Date(response.now.getTime() + place.leaseMs);
  const beginning = beginValidation(ca.database.db, holder, id, response, leaseUntil);
  const firstTry = place?.fill(beginning.then((begun) => begun?.claim));
  const begun = await beginning;
  return begun && { challenge: begun.challenge, firstTry };
}

/** Valid, where the first try finds that soon. What else comes of it the client asks for, as of every later one. */
async function afterFirstTry(ca: Ca, { challenge, firstTry }: Begun): Promise<SingleAcmeChallenge> {
  const validatedAt = firstTry && (await withinMs(PATIENCE_MS, firstTry));
  const row: ChallengeRow =
    validatedAt === undefined
      ? challenge
      : { ...challenge, state: 'valid', validated_at: validatedAt, authorization_state: 'valid' };
  return singleChallenge(row, ca.clock.now());
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

const readChallenge = (ca: Ca, applicant: Applicant, id: string | undefined): Promise<ChallengeRow> =>
  own('challenge', applicant, findOwn(ca, applicant.account.id, id));

const findOwn = async (ca: Ca, accountId: string, id: string | undefined): Found<ChallengeRow> =>
  id === undefined ? undefined : findChallenge(ca.database.db, { id, accountId });

/** Throws where a response changes nothing and never will. */
function requireGoing(row: ChallengeRow, now: Date): void {
  const state = stateOfAuthorization(row, now);
  if (state !== 'pending' && state !== 'valid')
    throw new AcmeError('malformed', `The authorization of this challenge is ${state}; order anew.`);
  if (row.state === 'pending' && state === 'pending')
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
