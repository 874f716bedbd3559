// From when to when a certificate lives: dates asked for are kept or refused, others follow the directory and the issuer.
import { formatSeconds } from '../schema/timestamp.ts';
import { type Parsed, parsed, refused } from './parsed.ts';

export type Validity = { readonly notBefore: Date; readonly notAfter: Date };

export type ValidityRequest = {
  readonly now: Date;
  /** Days count from here unless a notBefore was asked for (ORD-16). */
  readonly orderedAt: Date;
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  readonly directory: { readonly name: string; readonly certMinDays: number; readonly certMaxDays: number };
  readonly issuer: Validity & { readonly name: string };
};

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DEFAULT_DAYS = 90;
const BACKDATE = 5 * MINUTE;
/** ORD-16: who sends notAfter alone counted from his own clock. */
const CLOCK_TOLERANCE = 5 * MINUTE;
/** ORD-17. */
const NOT_BEFORE_PAST = HOUR;
const NOT_BEFORE_AHEAD = DAY;

/**
 * The dates of the certificate, or the window that was allowed. The same at new-order and at finalize, as long as
 * neither directory nor issuer changed. N days by default are N days to the second, both ends included (SEC-16);
 * dates that lie exactly N days apart count as N days too (ORD-16), and stay as they were asked for (ORD-14).
 */
export function certificateValidity(request: ValidityRequest): Parsed<Validity> {
  const { directory, issuer } = request;
  const ordered = secondsOf(request.orderedAt);
  const begin = request.notBefore === undefined ? ordered : secondsOf(request.notBefore);
  if (request.notBefore !== undefined) {
    const earliest = Math.max(ordered - NOT_BEFORE_PAST, secondsOf(issuer.notBefore));
    const latest = Math.min(ordered + NOT_BEFORE_AHEAD, secondsOf(issuer.notAfter));
    if (begin < earliest || begin > latest) return outside('notBefore', begin, earliest, latest);
  }
  const end =
    request.notAfter === undefined
      ? defaultEnd(request, begin)
      : requestedEnd(request, begin, secondsOf(request.notAfter));
  if (!end.ok) return end;
  if (end.value <= Math.max(begin, secondsOf(request.now))) {
    return refused(
      `A certificate of directory ${directory.name} for this order would have ended on ${shown(end.value)} already.`,
    );
  }
  const notBefore = request.notBefore === undefined ? Math.max(begin - BACKDATE, secondsOf(issuer.notBefore)) : begin;
  return parsed({ notBefore: dateOf(notBefore), notAfter: dateOf(end.value) });
}

function requestedEnd({ directory, issuer, notBefore }: ValidityRequest, begin: number, end: number): Parsed<number> {
  const tolerance = notBefore === undefined ? CLOCK_TOLERANCE : 0;
  const earliest = begin + Math.max(directory.certMinDays * DAY, 1);
  const latest = begin + directory.certMaxDays * DAY;
  const issuerEnd = secondsOf(issuer.notAfter);
  if (end >= earliest - tolerance && end > begin && end <= latest + tolerance && end <= issuerEnd) return parsed(end);
  if (issuerEnd < earliest) return refused(issuerTooShort(directory, issuer));
  const limit = `directory ${directory.name} allows ${directory.certMinDays} to ${directory.certMaxDays} days`;
  const reason = issuerEnd < latest ? `${limit}, and CA cert ${issuer.name} ends then` : limit;
  return outside('notAfter', end, earliest, Math.min(latest, issuerEnd), reason);
}

/** Shortened to the issuer's end, but never below the directory's minimum. */
function defaultEnd({ directory, issuer }: ValidityRequest, begin: number): Parsed<number> {
  const days = Math.max(Math.min(DEFAULT_DAYS, directory.certMaxDays), directory.certMinDays);
  if (days === 0) return refused(`Directory ${directory.name} allows no certificate, because its cert_max_days is 0.`);
  const end = Math.min(begin + days * DAY - 1, secondsOf(issuer.notAfter));
  return end + 1 - begin < directory.certMinDays * DAY ? refused(issuerTooShort(directory, issuer)) : parsed(end);
}

const issuerTooShort = (directory: ValidityRequest['directory'], issuer: ValidityRequest['issuer']): string =>
  `CA cert ${issuer.name} ends on ${formatSeconds(issuer.notAfter)}, before ` +
  `${directory.certMinDays === 0 ? 'the certificate would begin' : `the ${directory.certMinDays} days that directory ${directory.name} demands have passed`}; ` +
  'the directory needs another CA cert.';

const outside = (field: string, came: number, earliest: number, latest: number, reason?: string) =>
  refused(
    `${field} ${shown(came)} is outside the allowed window from ${shown(earliest)} to ${shown(latest)}` +
      `${reason === undefined ? '' : ` (${reason})`}.`,
  );

/** ORD-18: whole seconds. */
const secondsOf = (date: Date): number => Math.floor(date.getTime() / 1000);
const dateOf = (seconds: number): Date => new Date(seconds * 1000);
const shown = (seconds: number): string => formatSeconds(dateOf(seconds));
