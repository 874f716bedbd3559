// The response of a client to a challenge.
import { sql } from 'kysely';
import type { ChallengeType } from '../lifecycles/challenge.ts';
import type { Holder } from './acme-orders.ts';
import { type ChallengeRow, challengeColumns, heldBy } from './authorizations.ts';
import type { Db } from './database.ts';
import { type BucketKind, failuresOf, hasToken } from './rate-limits.ts';

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

/**
 * Begins the validation: pending -> processing, due at once. Holds the authorization, so nobody ends it meanwhile.
 * Undefined when the challenge is not pending, not one that its authorization offers (AUT-8), or the authorization is
 * not pending, or validations of its name have failed too often. It need not survive a crash: the challenge is pending
 * then, and the client sends it again.
 */
export async function beginValidation(
  db: Db,
  holder: Holder,
  id: string,
  { now, thumbprint, accountUrl, offered, failures }: Response,
): Promise<ChallengeRow | undefined> {
  const { rows } = await sql<ChallengeRow>`
    with a as (
      select a.* from challenges c join authorizations a on a.id = c.authorization_id
       where c.id = ${id} and a.state = 'pending' and a.expires_at > ${now} and ${heldBy(holder)}
         and ${failures === undefined ? sql`true` : hasToken(failures, sql`${failuresOf(holder.accountId)} || a.value`, now)}
         for share of a),
    c as (
      update challenges
         set state = 'processing', key_authorization = token || '.' || ${thumbprint}, account_url = ${accountUrl},
             due_at = ${now}
        from a
       where challenges.id = ${id} and challenges.authorization_id = a.id and challenges.state = 'pending'
         and challenges.type = any(case when a.type = 'ip' then ${offered.address}::text[]
                                        when a.wildcard then ${offered.wildcard}::text[]
                                        else ${offered.name}::text[] end)
         and set_config('synchronous_commit', 'off', true) is not null
      returning challenges.*)
    select ${challengeColumns}, pg_notify('acmery_due', ${CHALLENGE}) from c, a`.execute(db);
  return rows[0];
}

/** The next try comes no later than this, where fewer than so many have failed. */
export async function hastenValidation(db: Db, id: string, at: Date, failures: number): Promise<void> {
  await sql`
    update challenges set due_at = ${at}
     where id = ${id} and state = 'processing' and lease_until is null and due_at > ${at}
       and coalesce(jsonb_array_length(failures), 0) < ${failures}
       and set_config('synchronous_commit', 'off', true) is not null`.execute(db);
}
