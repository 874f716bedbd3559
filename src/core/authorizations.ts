// Authorizations as ACME clients see them, and the end that a client gives one.
import type { AuthorizationState } from '../lifecycles/authorization.ts';
import { challengeTypes } from '../lifecycles/challenge.ts';
import { lockAcmeKey } from '../store/acme-keys.ts';
import type { Held } from '../store/acme-orders.ts';
import {
  type ChallengeRow,
  endLockedOrders,
  endProbesOf,
  findAuthorization,
  lockOrdersLeaningOn,
} from '../store/authorizations.ts';
import type { Tx } from '../store/database.ts';
import { moveAuthorization } from '../store/move.ts';
import type { Identifier, StoredProblem } from '../store/tables.ts';
import { AcmeError } from './acme-error.ts';
import { type Applicant, type Found, own } from './applicant.ts';
import { authorizationState, shownChallenges } from './authorization-state.ts';
import type { Ca } from './ca.ts';
import { type AcmeChallenge, acmeChallenge, retryAfterOf } from './challenges.ts';
import { formatId } from './ids.ts';
import { noteFailure } from './rate-limits.ts';

export type AcmeAuthorization = {
  readonly id: string;
  /** Without `*.` (ORD-8). */
  readonly identifier: Identifier;
  readonly state: AuthorizationState;
  readonly expiresAt: Date;
  readonly wildcard: boolean;
  /** Those that its state shows (AUT-3), as they are offered. Never none. */
  readonly challenges: readonly AcmeChallenge[];
  /** While a validation runs (AUT-5). */
  readonly retryAfterSeconds: number | undefined;
};

type AuthorizationRow = Held & { readonly challenges: readonly ChallengeRow[] };

/** An authorization by its uuid; undefined for one of another account. */
export async function readAuthorization(ca: Ca, accountId: string, id: string | undefined): Found<AuthorizationRow> {
  const challenges = id === undefined ? [] : await findAuthorization(ca.database.db, { id, accountId });
  const [first] = challenges;
  return first && { acme_key_id: first.acme_key_id, directory_id: first.directory_id, challenges };
}

/** An authorization of the account by its uuid. Throws `malformed` (404) for every other. */
export async function getAuthorization(
  ca: Ca,
  applicant: Applicant,
  id: string | undefined,
  found = readAuthorization(ca, applicant.account.id, id),
): Promise<AcmeAuthorization> {
  return acmeAuthorization(await own('authorization', applicant, found), ca.clock.now());
}

/**
 * AUT-6: nothing can be ordered by it any more, and open orders that lean on it end with it (ORD-25). Once more is no
 * change. Throws `malformed` for one that has ended otherwise, `unauthorized` for an account that has. Locks the account,
 * against new orders that would reuse it, then its orders, then the authorization.
 */
export async function deactivateAuthorization(
  ca: Ca,
  applicant: Applicant,
  id: string | undefined,
  found?: Found<AuthorizationRow>,
): Promise<AcmeAuthorization> {
  const seen = await getAuthorization(ca, applicant, id, found);
  const ended = await ca.database.inTransaction((tx) => end(tx, applicant, seen.id));
  const authorization = await getAuthorization(ca, applicant, id);
  if (authorization.state !== 'deactivated')
    throw new AcmeError(
      'malformed',
      `The authorization is ${authorization.state}; only a pending or valid one can be deactivated.`,
    );
  if (ended !== undefined) {
    // Or whoever ends it before the last try could have a name looked for without end (ORD-28).
    if (ended.wasTried) await noteFailure(ca, applicant.account.id, seen.identifier.value);
    ca.events.authorizationDeactivated({
      id: formatId('authz', seen.id),
      account: formatId('acmk', applicant.account.id),
      directory: applicant.directory.slug,
      requestId: applicant.requestId,
      endedOrders: ended.orders,
    });
  }
  return authorization;
}

type Ended = {
  /** How many ended with it. */
  readonly orders: number;
  readonly wasTried: boolean;
};

/** Undefined when there was nothing to end. */
async function end(tx: Tx, { account }: Applicant, id: string): Promise<Ended | undefined> {
  const holder = await lockAcmeKey(tx, account.id);
  if (holder?.state !== 'valid')
    throw new AcmeError('unauthorized', 'The account is no longer valid; register a new one with a new key.', {
      status: 401,
    });
  const orders = await lockOrdersLeaningOn(tx, id);
  const moved = await moveAuthorization(tx, id, 'deactivated', { returning: ['type', 'value'] });
  if (moved === undefined) return undefined;
  const { type, value } = moved;
  const problem: StoredProblem = { type: 'unauthorized', detail: `The authorization of ${value} was deactivated.` };
  await endLockedOrders(tx, orders, { ...problem, subproblems: [{ ...problem, identifier: { type, value } }] });
  return { orders: orders.length, wasTried: await endProbesOf(tx, id, problem) };
}

function acmeAuthorization({ challenges: rows }: AuthorizationRow, now: Date): AcmeAuthorization {
  const [first] = rows;
  if (first === undefined) throw new RangeError('An authorization offers at least one challenge.');
  const { authorization_id, authorization_state, identifier_type, value, wildcard, expires_at } = first;
  const state = authorizationState({ state: authorization_state, expires_at }, now);
  const offered = rows.toSorted((a, b) => challengeTypes.indexOf(a.type) - challengeTypes.indexOf(b.type));
  return {
    id: authorization_id,
    identifier: { type: identifier_type, value },
    state,
    expiresAt: expires_at,
    wildcard,
    challenges: shownChallenges(state, offered).map(acmeChallenge),
    retryAfterSeconds: rows.map((row) => retryAfterOf(row, now)).find((seconds) => seconds !== undefined),
  };
}
