// The limits that the operator set: token buckets in the database, shared by all replicas, at the same cost whatever is in them.

import { formatSeconds } from '../schema/timestamp.ts';
import {
  type Bucket,
  type BucketKind,
  drainToken,
  failuresOf,
  missingTokenUntil,
  takeToken,
} from '../store/rate-limits.ts';
import { AcmeError } from './acme-error.ts';
import { clientNetwork } from './addresses.ts';
import type { Ca, Limits } from './ca.ts';
import { formatId } from './ids.ts';

type Limited = {
  readonly limit: keyof Limits;
  readonly subject: string;
  /** For the log. */
  readonly who: string;
  /** What is limited, and who has done it. */
  readonly says: (count: number, period: string) => string;
};

/** nginx gives up when it has to wait longer, acme.sh at ten times that (ERR-9); who comes too early is told again. */
const LONGEST_RETRY_SECONDS = 60;

/** Counts a new order. Asynchronous commit, no locks beyond the statement. Throws AcmeError `rateLimited`. */
export const spendOrders = (ca: Ca, acmeKeyId: string): Promise<void> =>
  spend(ca, {
    limit: 'orders',
    subject: acmeKeyId,
    who: formatId('acmk', acmeKeyId),
    says: (count, period) => `An account may make ${count} orders ${period}, and this one has made them.`,
  });

/** Counts a new account; IPv6 clients count by their /64. As spendOrders. */
export function spendAccounts(ca: Ca, clientAddress: string): Promise<void> {
  const who = clientNetwork(clientAddress);
  return spend(ca, {
    limit: 'accounts',
    subject: who,
    who,
    says: (count, period) =>
      `From one address ${count} accounts ${period} may be made, and from ${who} they have been.`,
  });
}

/** Before a name is validated: it may have failed too often. Changes nothing. Throws AcmeError `rateLimited`. */
export async function requireFailuresLeft(ca: Ca, acmeKeyId: string, name: string): Promise<void> {
  const limited = failures(acmeKeyId, name);
  const bucket = bucketOf(ca, limited);
  const until = bucket && (await missingTokenUntil(ca.database.db, bucket, ca.clock.now()));
  if (bucket !== undefined && until !== undefined) throw refused(ca, limited, bucket, until);
}

/** Counts a validation that failed, once its result is committed. Asynchronous commit. */
export async function noteFailure(ca: Ca, acmeKeyId: string, name: string): Promise<void> {
  const bucket = bucketOf(ca, failures(acmeKeyId, name));
  if (bucket !== undefined) await drainToken(ca.database.db, bucket, ca.clock.now());
}

/** For a statement that begins a validation: it does not where requireFailuresLeft would throw. */
export const failureBuckets = (ca: Ca): BucketKind | undefined => bucketKindOf(ca, 'failures');

const failures = (acmeKeyId: string, name: string): Limited => ({
  limit: 'failures',
  subject: failuresOf(acmeKeyId) + name,
  who: `${formatId('acmk', acmeKeyId)} ${name}`,
  says: (count, period) =>
    `For an account ${count} validations ${period} of one name may fail, and those of ${name} have.`,
});

async function spend(ca: Ca, limited: Limited): Promise<void> {
  const bucket = bucketOf(ca, limited);
  const now = ca.clock.now();
  if (bucket === undefined || (await takeToken(ca.database.db, bucket, now))) return;
  // One may have come back since.
  throw refused(ca, limited, bucket, (await missingTokenUntil(ca.database.db, bucket, now)) ?? now);
}

/** A rate that the operator changed begins with full buckets: those of another rate cannot be read by it. */
function bucketKindOf(ca: Ca, limit: keyof Limits): BucketKind | undefined {
  const rate = ca.limits[limit];
  if (rate === 'off') return undefined;
  const { count, perMs } = rate;
  return { kind: `${limit} ${count}/${perMs}`, count, perMs };
}

function bucketOf(ca: Ca, { limit, subject }: Limited): Bucket | undefined {
  const kind = bucketKindOf(ca, limit);
  return kind && { ...kind, subject };
}

const periods: Readonly<Record<number, string>> = { 1000: 'a second', 60000: 'a minute', 3600000: 'an hour' };

function refused(ca: Ca, { limit, who, says }: Limited, { count, perMs }: Bucket, until: Date): AcmeError {
  ca.events.limitReached({ limit, who, isRepeated: false });
  const waitSeconds = Math.ceil((until.getTime() - ca.clock.now().getTime()) / 1000);
  const goesOn = new Date(Math.ceil(until.getTime() / 1000) * 1000);
  const period = periods[perMs] ?? `in ${perMs / 1000} s`;
  return new AcmeError('rateLimited', `${says(count, period)} It goes on at ${formatSeconds(goesOn)}.`, {
    headers: { 'Retry-After': String(Math.max(1, Math.min(waitSeconds, LONGEST_RETRY_SECONDS))) },
  });
}
