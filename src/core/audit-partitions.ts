// The audit log's months: their partitions are there before the first record comes.
import { ensureAuditPartitions as ensure } from '../store/audit-partitions.ts';
import type { Ca } from './ca.ts';

/** May be run by several replicas at once. Throws when the database is busy: the next run does it. */
export const ensureAuditPartitions = async (ca: Ca): Promise<void> => {
  await ensure(ca.database.db, ca.clock.now());
};
