// CAA is looked up again where the last look is too long ago (RFC 8659 section 4; CAA-9): for orders validated by challenge.
import { type FinalizeRow, markCaaChecked, type OrderAuthorizationRow } from '../store/finalize.ts';
import { AcmeError } from './acme-error.ts';
import type { Applicant } from './applicant.ts';
import type { Ca } from './ca.ts';
import { type CaaQuestion, checkCaa } from './caa.ts';
import { offeredChallenges } from './challenge-offers.ts';
import { CaError } from './errors.ts';
import { authorizedKey, identifierKey } from './finalize-decision.ts';
import type { Identifier } from './identifiers.ts';
import { accountUrl } from './urls.ts';

const FRESH_MS = 8 * 3_600_000;
/** Orders of one directory, in one process: names whose DNS is slow leave room for the requests of all others. */
export const mostAtOnce = 32;
const underWay = new Map<string, number>();

type Due = { readonly authorizationId: string; readonly question: CaaQuestion };

/**
 * Throws `caa` with a subproblem for each name that it forbids, and CaError `unavailable` where as many orders of the
 * directory wait already. Asks nobody where all looks are fresh.
 */
export async function recheckCaa(
  ca: Ca,
  { directory, account }: Applicant,
  row: FinalizeRow,
  identifiers: readonly Identifier[],
  { now, signal }: { readonly now: Date; readonly signal: AbortSignal },
): Promise<void> {
  const due = dueFor(row, identifiers, now);
  if (due.length === 0) return;
  const policy = {
    caaTag: directory.caa_tag,
    onMissingCaa: directory.on_missing_caa,
    accountUrls: directory.slugs.map((slug) => accountUrl(ca.urls, slug, account.id)),
  };
  const questions = due.map(({ question }) => question);
  const findings = await inTurn(directory.id, () => checkCaa(ca, policy, questions, signal));
  const subproblems = findings.flatMap(({ identifier: { type, value }, verdict: { allowed, detail } }) =>
    allowed ? [] : [{ type: 'caa' as const, detail, identifier: { type, value } }],
  );
  const [first] = subproblems;
  if (first !== undefined) throw new AcmeError('caa', first.detail, { subproblems });
  const ids = due.map(({ authorizationId }) => authorizationId);
  await markCaaChecked(ca.database.db, ids, now);
}

async function inTurn<Result>(directoryId: string, work: () => Promise<Result>): Promise<Result> {
  const others = underWay.get(directoryId) ?? 0;
  if (others >= mostAtOnce)
    throw new CaError('unavailable', `CAA is being looked up for ${others} orders of this directory; try again soon.`);
  underWay.set(directoryId, others + 1);
  try {
    return await work();
  } finally {
    const rest = (underWay.get(directoryId) ?? 1) - 1;
    if (rest > 0) underWay.set(directoryId, rest);
    else underWay.delete(directoryId);
  }
}

function dueFor({ authorizations }: FinalizeRow, identifiers: readonly Identifier[], now: Date): readonly Due[] {
  const rows = new Map(authorizations.map((row) => [authorizedKey(row), row]));
  return identifiers.flatMap((identifier) => {
    const row = rows.get(identifierKey(identifier));
    if (identifier.type !== 'dns' || row === undefined || !isDue(row, now)) return [];
    // CAA-8: the method that was used.
    const methods = row.method === null ? offeredChallenges(identifier) : ([row.method] as const);
    return [{ authorizationId: row.id, question: { identifier, methods } }];
  });
}

/** CAA-13: what is approved without a challenge causes no network traffic. */
const isDue = ({ auto, caa_checked_at: checkedAt }: OrderAuthorizationRow, now: Date): boolean =>
  !auto && (checkedAt === null || now.getTime() - checkedAt > FRESH_MS);
