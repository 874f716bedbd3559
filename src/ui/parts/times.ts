// Times as people read them: how far away, and exactly when, always in UTC.
import { type Html, html } from '../../html/html.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY_MS = 24 * HOUR;
const MONTH = 30.44 * DAY_MS;
const YEAR = 365.25 * DAY_MS;

/** From the second bound on the next unit is used: so there are 47 hours and 2 days, but never 1 day and a half. */
const units: readonly (readonly [name: string, ms: number, until: number])[] = [
  ['minute', MINUTE, HOUR],
  ['hour', HOUR, 2 * DAY_MS],
  ['day', DAY_MS, 2 * MONTH],
  ['month', MONTH, 2 * YEAR],
  ['year', YEAR, Number.POSITIVE_INFINITY],
];

/** `in 3 days`, `2 hours ago`. Cut, not rounded: nothing is said to last longer than it does. */
export function relative(date: Date, now: Date): string {
  const distance = date.getTime() - now.getTime();
  const size = Math.abs(distance);
  if (size < MINUTE) return distance >= 0 && size > 0 ? 'in less than a minute' : 'just now';
  const [name = '', ms = 1] = units.find(([, , until]) => size < until) ?? [];
  const count = Math.floor(size / ms);
  const text = `${count} ${name}${count === 1 ? '' : 's'}`;
  return distance > 0 ? `in ${text}` : `${text} ago`;
}

/** `2026-05-17 12:00 UTC`. */
export const absolute = (date: Date): string => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

/** `2026-05-17`. */
export const day = (date: Date): string => date.toISOString().slice(0, 10);

/** Both, the exact one beside or below. */
export const when = (date: Date | undefined, now: Date): Html =>
  date === undefined
    ? none
    : html`<time datetime="${date.toISOString()}">${relative(date, now)} <span class="exact">${absolute(date)}</span></time>`;

/** Where there is nothing to show. */
export const none: Html = html`<span class="soft none">none</span>`;
