// RFC 3339 timestamps: read strictly, written as the interface shows them.

const FORM = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** The instant, floored to whole seconds (ORD-18); undefined without a zone or where a field is out of its range. */
export function parseTimestamp(text: string): Date | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [zoneHour, zoneMinute] = [Number(match[9] ?? 0), Number(match[10] ?? 0)];
  // Second 60 is a leap second (RFC 3339 section 5.6) and reads as the second that follows it.
  if (hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have lands in another month.
  if (date.getUTCFullYear() !== year || date.getUTCMonth() !== month - 1) return undefined;
  const offsetMinutes = (zoneHour * 60 + zoneMinute) * (match[8] === '-' ? -1 : 1);
  date.setUTCHours(hour, minute - offsetMinutes, second);
  return date;
}

/** `2026-03-01T12:00:00Z`. */
export const formatSeconds = (date: Date): string => `${date.toISOString().slice(0, -5)}Z`;
