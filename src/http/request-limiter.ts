// How many requests a client address may send. Counted in memory, by each process for itself: every request is counted.
import type { Events } from '../telemetry/events.ts';
import { clientNetwork } from './client-address.ts';
import { RefusedRequest, refusal } from './refusals.ts';

/** Counts a request, and says how it is refused where it is one too many. */
export type RequestLimiter = (clientAddress: string) => RefusedRequest | undefined;

type Rate = { readonly count: number; readonly perMs: number } | 'off';

/** Of one address since its first request; begun anew after the end. */
type Window = { count: number; endsAt: number };

/** Some clients give up rather than wait longer than this (ERR-9). */
const LONGEST_RETRY_SECONDS = 60;
/** About 20 MB. Of more addresses, those that asked longest ago are forgotten: memory matters more than their count. */
const MOST_ADDRESSES = 100_000;

/** One for all listeners that share the limit; undefined where there is none. */
export function requestLimiter(rate: Rate, events: Events, mostAddresses = MOST_ADDRESSES): RequestLimiter | undefined {
  if (rate === 'off') return undefined;
  const { count: most, perMs } = rate;
  // A Map lists its keys in the order in which they were set.
  const windows = new Map<string, Window>();
  let newest: Window | undefined;
  return (clientAddress) => {
    const who = clientNetwork(clientAddress);
    const now = performance.now();
    const known = windows.get(who);
    const window = known !== undefined && now < known.endsAt ? known : { count: 0, endsAt: now + perMs };
    window.count++;
    if (window !== newest) {
      windows.delete(who);
      windows.set(who, window);
      if (windows.size > mostAddresses) for (const oldest of windows.keys().take(1)) windows.delete(oldest);
      newest = window;
    }
    if (window.count <= most) return undefined;
    events.limitReached({ limit: 'requests', who, isRepeated: window.count > most + 1 });
    const waitSeconds = Math.ceil((window.endsAt - now) / 1000);
    const retryAfterSeconds = Math.max(1, Math.min(waitSeconds, LONGEST_RETRY_SECONDS));
    return new RefusedRequest(refusal('too_many_requests', { retryAfterSeconds }));
  };
}
