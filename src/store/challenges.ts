// The response of a client to a challenge.
import type { ChallengeType } from '../lifecycles/challenge.ts';
import { askedFor, type Holder, type OwnAsk } from './acme-orders.ts';
import { type ChallengeRow, challengeColumns, heldBy } from './authorizations.ts';
import { type ChallengeClaim, type Surroundings, surroundings } from './challenge-results.ts';
import type { Db } from './database.ts';
import { answersIn, gatheredOn } from './gathered.ts';
import { quickly } from './quick-writes.ts';
import { type BucketKind, mayFail } from './rate-limits.ts';
import { type Statement, sql } from './statement.ts';

/** The task that probes challenges, as worker/tasks.ts names it. */
const CHALLENGE = 'challenge';

export type Response = {
  readonly now: Date;
  /** RFC 7638, base64url. */
  readonly thumbprint: string;
  readonly accountUrl: string;
  /** By what an authorization is of. */
  readonly offered: Readonly<Record<'name' | 'wildcard' | 'address', readonly ChallengeType[]>>;
  /** Of the failures of an account and name; undefined where they have no limit. */
  readonly failures: BucketKind | undefined;
};

type ChallengeAsk = OwnAsk & Pick<Response, 'now' | 'failures'>;

/** A challenge with all that a try to validate it stands on. */
export type FoundChallenge = ChallengeRow &
  Surroundings & {
    /** Validations of its name have not failed too often. */
    readonly may_be_tried: boolean;
  };

/** Undefined where the account has no such challenge. Many at once are one statement: their limit of failures is one. */
export const findChallenge = gatheredOn<ChallengeAsk, FoundChallenge | undefined>(async (db, asks) => {
  const now = new Date(Math.max(...asks.map((ask) => ask.now.getTime())));
  const failures = asks[0]?.failures;
  const { rows } = await sql<FoundChallenge & { readonly asked: number }>`
    select asked.position::integer as asked, ${challengeColumns}, ${surroundings},
           ${mayFail(failures, now)} as may_be_tried
      from ${askedFor(asks)}
      join challenges c on c.id = asked.id
      join authorizations a on a.id = c.authorization_id and (a.acme_key_id = asked.acme_key_id) is true
      join acme_keys k on k.id = a.acme_key_id
      join directories d on d.id = k.directory_id`.execute(db);
  return answersIn(asks, rows);
});

/** `claim` where it is under the lease of the caller. */
type Begun = { readonly challenge: ChallengeRow; readonly claim: ChallengeClaim | undefined };

/**
 * Begins the validation: pending -> processing, due at once, and with `leaseUntil` under the lease of the caller; else the
 * workers are told. Holds the authorization, so nobody ends it meanwhile. Undefined when the challenge is not pending, not
 * one that its authorization offers (AUT-8), or the authorization is not pending, or validations of its name have failed
 * too often. It need not survive a crash: the challenge is pending then, and the client sends it again.
 */
export async function beginValidation(
  db: Db,
  holder: Holder,
  id: string,
  response: Response,
  leaseUntil?: Date,
): Promise<Begun | undefined> {
  if (leaseUntil === undefined) {
    const told = sql`${challengeColumns}, pg_notify('acmery_due', ${CHALLENGE})`;
    const { rows } = await beginning<ChallengeRow>(holder, id, response, sql``, told).execute(quickly(db));
    return rows[0] && { challenge: rows[0], claim: undefined };
  }
  const leased = sql`, lease_until = ${leaseUntil}, attempts = attempts + 1`;
  const claimed = sql`
    ${challengeColumns}, c.attempts as attempt, c.failures, c.key_authorization, c.account_url, ${surroundings}`;
  const { rows } = await beginning<ClaimedRow>(holder, id, response, leased, claimed).execute(quickly(db));
  return rows[0] && { challenge: rows[0], claim: { ...rows[0], state: rows[0].authorization_state } };
}

type ClaimedRow = ChallengeRow & Omit<ChallengeClaim, 'state'>;

const beginning = <Row>(
  holder: Holder,
  id: string,
  { now, thumbprint, accountUrl, offered, failures }: Response,
  leased: Statement<unknown>,
  columns: Statement<unknown>,
): Statement<Row> => sql<Row>`
  with a as (
    select a.* from challenges c join authorizations a on a.id = c.authorization_id
     where c.id = ${id} and (a.state = 'pending' and a.expires_at > ${now}) is true and ${heldBy(holder)}
       and ${mayFail(failures, now)}
       for share of a),
  c as (
    update challenges
       set state = 'processing', key_authorization = token || '.' || ${thumbprint}, account_url = ${accountUrl},
           due_at = ${now}${leased}
      from a
     where challenges.id = ${id} and challenges.authorization_id = a.id and (challenges.state = 'pending') is true
       and challenges.type = any(case when a.type = 'ip' then ${offered.address}::text[]
                                      when a.wildcard then ${offered.wildcard}::text[]
                                      else ${offered.name}::text[] end)
       and set_config('synchronous_commit', 'off', true) is not null
    returning challenges.*)
  select ${columns}
    from c, a join acme_keys k on k.id = a.acme_key_id join directories d on d.id = k.directory_id`;

/** The next try comes no later than this, where fewer than so many have failed. */
export async function hastenValidation(db: Db, id: string, at: Date, failures: number): Promise<void> {
  await sql`
    update challenges set due_at = ${at}
     where id = ${id}
       and (state = 'processing' and lease_until is null and due_at > ${at}
            and coalesce(jsonb_array_length(failures), 0) < ${failures}) is true
       and set_config('synchronous_commit', 'off', true) is not null`.execute(quickly(db));
}
