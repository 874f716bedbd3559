// How many requests a client address may send. Counted in memory, by each process for itself: every request is counted.
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import type { Events } from '../telemetry/events.ts';
import { clientNetwork } from './client-address.ts';
import { RefusedRequest, refusal } from './refusals.ts';

/** Counts a request, and says how it is refused where it is one too many. */
export type RequestLimiter = (clientAddress: string) => Promise<RefusedRequest | undefined>;

type Rate = { readonly count: number; readonly perMs: number } | 'off';

/** Some clients give up rather than wait longer than this (ERR-9). */
const LONGEST_RETRY_SECONDS = 60;
/** About 30 MB. Of more addresses, those that asked longest ago are forgotten: memory matters more than their count. */
const MOST_ADDRESSES = 100_000;

/** One for all listeners that share the limit; undefined where there is none. */
export function requestLimiter(rate: Rate, events: Events, mostAddresses = MOST_ADDRESSES): RequestLimiter | undefined {
  if (rate === 'off') return undefined;
  const { count } = rate;
  const counts = new RateLimiterMemory({ points: count, duration: rate.perMs / 1000 });
  const recent = new Set<string>();
  return async (clientAddress) => {
    const who = clientNetwork(clientAddress);
    // A Set lists its values in the order in which they were added.
    recent.delete(who);
    recent.add(who);
    if (recent.size > mostAddresses)
      for (const oldest of recent.values().take(1)) {
        recent.delete(oldest);
        await counts.delete(oldest);
      }
    try {
      await counts.consume(who);
      return undefined;
    } catch (over) {
      if (!(over instanceof RateLimiterRes)) throw over;
      events.limitReached({ limit: 'requests', who, isRepeated: over.consumedPoints > count + 1 });
      const waitSeconds = Math.ceil(over.msBeforeNext / 1000);
      const retryAfterSeconds = Math.max(1, Math.min(waitSeconds, LONGEST_RETRY_SECONDS));
      return new RefusedRequest(refusal('too_many_requests', { retryAfterSeconds }));
    }
  };
}
