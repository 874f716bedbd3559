// Statements that end what an account has begun: orders, authorizations, challenges. Each is called after the account
// is locked and in a statement of its own, so that it sees what was committed until then.
import { type RawBuilder, sql } from 'kysely';
import { authorizationLifecycle } from '../lifecycles/authorization.ts';
import { challengeLifecycle } from '../lifecycles/challenge.ts';
import { sourcesOf } from '../lifecycles/lifecycle.ts';
import { orderLifecycle } from '../lifecycles/order.ts';
import type { Tx } from './database.ts';
import type { StoredProblem } from './tables.ts';

type Authorizations = 'all' | 'auto';

/**
 * Makes unfinished orders invalid, those in `processing` too: what is being signed for them is dropped. `auto`: only
 * orders that lean on an authorization without a challenge. Returns how many there were.
 */
export async function endOrders(
  tx: Tx,
  acmeKeyId: string,
  leaningOn: Authorizations,
  error: StoredProblem,
): Promise<number> {
  const sources = sourcesOf(orderLifecycle, 'invalid');
  // State by state, as the index has them: of all at once the planner would rather look at every order of the account.
  const { rows } = await sql`
    update orders set state = 'invalid', error = ${JSON.stringify(error)}::jsonb,
                      tbs = null, due_at = null, lease_until = null
     where id = any(array(select o.id from unnest(${sources}::text[]) as source (state),
                                 lateral (select id from orders
                                           where acme_key_id = ${acmeKeyId} and state = source.state offset 0) o))
       and (state = any(${sources})) is true
       and ${leaningOn === 'all' ? sql`true` : leansOnAuto}
    returning id`.execute(tx);
  return rows.length;
}

/**
 * Makes orders invalid that are being signed for a key, under lockKey: an order that is being completed at this moment is
 * waited for, and its certificate is there for the next statement. Returns their ids.
 */
export async function endOrdersOfKey(tx: Tx, thumbprint: Buffer, error: StoredProblem): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    update orders set state = 'invalid', error = ${JSON.stringify(error)}::jsonb,
                      tbs = null, due_at = null, lease_until = null
     where key_thumbprint = ${thumbprint} and state = 'processing'
    returning id`.execute(tx);
  return rows.map(({ id }) => id);
}

/**
 * Nothing can be ordered by them any more. Those that have expired stay as they are. So many at a time: of one account
 * there may be a million, more than one statement can end in its time, and it has to be ended all the same.
 */
export async function endAuthorizations(
  tx: Tx,
  acmeKeyId: string,
  which: Authorizations,
  now: Date,
  batch = 10_000,
): Promise<void> {
  for (const to of ['revoked', 'invalid'] as const) {
    const isOpen = sql`state = any(${sourcesOf(authorizationLifecycle, to)})`;
    const end = () =>
      sql`
        update authorizations set state = ${to}
         where id = any(array(select id from authorizations
                               where acme_key_id = ${acmeKeyId}
                                 and (expires_at > ${now} and ${isOpen}
                                      and ${which === 'all' ? sql`true` : sql`auto`}) is true
                               limit ${batch}))
           and ${isOpen}`.execute(tx);
    while (Number((await end()).numAffectedRows) > 0);
  }
}

/**
 * No challenge of the account is looked for any more. Few are looked for at once; `offset 0` has each of their
 * authorizations found by its id.
 */
export async function endProbes(tx: Tx, acmeKeyId: string, error: StoredProblem): Promise<void> {
  await sql`
    update challenges set state = 'invalid', error = ${JSON.stringify(error)}::jsonb,
                          failures = null, due_at = null, lease_until = null
     where id = any(array(select c.id from challenges c,
                                 lateral (select acme_key_id from authorizations
                                           where id = c.authorization_id offset 0) a
                           where c.state = 'processing' and a.acme_key_id = ${acmeKeyId}
                             for update of c))
       and state = any(${sourcesOf(challengeLifecycle, 'invalid')})`.execute(tx);
}

const leansOnAuto: RawBuilder<unknown> = sql`exists (
  select 1 from order_authorizations oa join authorizations a on a.id = oa.authorization_id
   where oa.order_id = orders.id and a.auto)`;
