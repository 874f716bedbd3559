// Statements on crls: the list of revocations that each CA signs.
import { sql } from 'kysely';
import type { Db } from './database.ts';

/**
 * Says that revocations of these CAs are not in their CRLs yet; each is built at `dueAt` or sooner. For after the commit
 * of the revocation, and not durable by itself: nobody queues on one hot row behind a flush to disk, and a mark that a
 * crash takes away is set again by a sweep, which finds the revocation later than the list.
 */
export async function markCrls(db: Db, signingCertIds: readonly string[], now: Date, dueAt: Date): Promise<void> {
  await sql`
    with asynchronous as materialized (select set_config('synchronous_commit', 'off', true))
    insert into crls (signing_cert_id, dirty_since, due_at)
    select id, ${now}, ${dueAt} from asynchronous, unnest(${signingCertIds}::uuid[]) as id order by id
    on conflict (signing_cert_id) do update
       set dirty_since = coalesce(crls.dirty_since, excluded.dirty_since),
           due_at = least(crls.due_at, excluded.due_at)
    returning pg_notify('acmery_due', 'crl')`.execute(db);
}
