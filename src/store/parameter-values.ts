// How a value becomes what Postgres is sent. The driver writes a time piece by piece in the zone of the process, and each
// text of a list through two patterns; what nearly all of them are goes more directly, to what the driver would have made.
// Every other value is left to the driver.

/** The first moments of the years 0001 and 10000: between them a time has the form that Postgres reads. */
const FIRST_MS = -62_135_596_800_000;
const END_MS = 253_402_300_800_000;
const ESCAPED = /["\\]/;

/** Equal for Postgres to what the driver makes of the value. */
export function parameterValue(value: unknown): unknown {
  if (value instanceof Date) return timeText(value) ?? value;
  if (Array.isArray(value)) return listText(value) ?? value;
  return value;
}

/** `2026-03-01T12:00:00.250+00:00`, as the driver has it in UTC; undefined for a time that Postgres would read otherwise, or not at all. */
function timeText(time: Date): string | undefined {
  const ms = time.getTime();
  if (!(ms >= FIRST_MS && ms < END_MS)) return undefined;
  const day = Math.floor(ms / DAY_MS);
  const inDay = ms - day * DAY_MS;
  const hour = padded[Math.trunc(inDay / 3_600_000)];
  const minute = padded[Math.trunc(inDay / 60_000) % 60];
  const seconds = (100_000 + (inDay % 60_000)).toString();
  return `${dayText(day, time)}T${hour}:${minute}:${seconds.slice(1, 3)}.${seconds.slice(3)}+00:00`;
}

/** Requests write times of few days: today, and when things end that were begun today. */
function dayText(day: number, time: Date): string {
  const known = days.get(day);
  if (known !== undefined) return known;
  const text = time.toISOString().slice(0, 10);
  if (days.size === MOST_DAYS) days.clear();
  days.set(day, text);
  return text;
}

const DAY_MS = 86_400_000;
const MOST_DAYS = 100;
const days = new Map<number, string>();
const padded = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

/** Of plain texts, bytes and nulls; undefined for any other list. */
function listText(list: readonly unknown[]): string | undefined {
  let text = '{';
  for (const item of list) {
    const element = elementText(item);
    if (element === undefined) return undefined;
    text += text.length === 1 ? element : `,${element}`;
  }
  return `${text}}`;
}

function elementText(item: unknown): string | undefined {
  if (typeof item === 'string') return ESCAPED.test(item) ? undefined : `"${item}"`;
  if (item === null) return 'NULL';
  if (Buffer.isBuffer(item)) return `\\\\x${item.toString('hex')}`;
  return undefined;
}
