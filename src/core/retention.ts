// What has been kept long enough goes: orders, authorizations, certificates, months of the audit log, full buckets.
// Accounts and their keys stay for ever (ACC-17).
import { dropAuditPartitionsBefore } from '../store/audit-partitions.ts';
import type { AuthorizationEnd } from '../store/expiry.ts';
import { type BucketKey, removeFullBuckets } from '../store/rate-limits.ts';
import {
  forgetReplacements,
  issuerIds,
  type RemovedOrder,
  removeAuthorizations,
  removeCerts,
  removeOrders,
  removeRevokedCerts,
} from '../store/retention.ts';
import { BATCH, inBatches, untilFew } from './batches.ts';
import type { Ca } from './ca.ts';
import { readCertId } from './cert-id.ts';

const DAY_MS = 86_400_000;
/** A CRL lives for seven days: what is revoked stays until one was made after the certificate's end. */
const REVOKED_AT_LEAST_MS = 8 * DAY_MS;
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Removes by small statements that wait for nobody; throws where the database is busy: the next run goes on. */
export async function removeEnded(ca: Ca, signal: AbortSignal): Promise<void> {
  ca.events.swept({ what: 'order_removed', count: await endedOrders(ca, signal) });
  ca.events.swept({ what: 'authorization_removed', count: await unusedAuthorizations(ca, signal) });
  ca.events.swept({ what: 'certificate_removed', count: await expiredCerts(ca, signal) });
  ca.events.swept({ what: 'rate_limit_removed', count: await fullBuckets(ca, signal) });
  const months = await dropAuditPartitionsBefore(ca.database.db, before(ca, ca.retention.auditMs));
  ca.events.swept({ what: 'audit_partition_removed', count: months.length });
}

const before = (ca: Ca, keptMs: number): Date => new Date(ca.clock.now().getTime() - keptMs);

function endedOrders(ca: Ca, signal: AbortSignal): Promise<number> {
  const bounds = { before: before(ca, ca.retention.ordersMs), limit: BATCH };
  return inBatches(signal, NOBODY, (afterId) =>
    ca.database.inTransaction(async (tx) => {
      const orders = await removeOrders(tx, afterId, bounds);
      const ofNoUse = orders.filter(({ state, replaces }) => state === 'invalid' && replaces !== null);
      if (ofNoUse.length > 0)
        await forgetReplacements(
          tx,
          serialsIn(ofNoUse),
          ofNoUse.map(({ id }) => id),
        );
      return { changed: orders.length, next: orders.length < BATCH ? undefined : orders.at(-1)?.id };
    }),
  );
}

// An order that is gone counts as one that was not invalid: what an invalid one leaves behind has to go with it.
const serialsIn = (orders: readonly RemovedOrder[]): readonly Buffer[] =>
  orders.flatMap(({ replaces }) => readCertId(replaces ?? '')?.serial ?? []);

/** After their orders, which end no later than they do. */
function unusedAuthorizations(ca: Ca, signal: AbortSignal): Promise<number> {
  const bounds = { before: before(ca, ca.retention.ordersMs), limit: BATCH };
  const first: AuthorizationEnd = { expiresAt: new Date(0), id: NOBODY };
  return inBatches(signal, first, (from) => removeAuthorizations(ca.database.db, from, bounds));
}

async function expiredCerts(ca: Ca, signal: AbortSignal): Promise<number> {
  const { db } = ca.database;
  const { expiredCertsMs } = ca.retention;
  const bounds = { before: before(ca, expiredCertsMs), limit: BATCH };
  let removed = 0;
  // Those of one CA after the other lie together in an index.
  for (const id of await issuerIds(db)) removed += await untilFew(signal, () => removeCerts(db, id, bounds));
  const revoked = { before: before(ca, Math.max(expiredCertsMs, REVOKED_AT_LEAST_MS)), limit: BATCH };
  return removed + (await untilFew(signal, () => removeRevokedCerts(db, revoked)));
}

function fullBuckets(ca: Ca, signal: AbortSignal): Promise<number> {
  const bounds = { now: ca.clock.now(), limit: BATCH };
  const first: BucketKey = { kind: '', subject: '' };
  return inBatches(signal, first, (after) => removeFullBuckets(ca.database.db, after, bounds));
}
