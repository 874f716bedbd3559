// Explains what would become of an order: every rule with its verdict, by the checks that decide over real orders.
import type { LeafKeyType } from '../resources/fields.ts';
import { type AcmeKeyRow, findAcmeKey } from '../store/acme-keys.ts';
import type { Db } from '../store/database.ts';
import type { DirectoryRow } from '../store/directories.ts';
import { listSlugsOfDirectory } from '../store/directory-slugs.ts';
import { type Address, parseClientAddress } from './addresses.ts';
import type { Ca } from './ca.ts';
import { type CaaFinding, checkCaa } from './caa.ts';
import { offeredChallenges } from './challenge-offers.ts';
import { requireDirectory } from './directories.ts';
import { issuerOf } from './directory-issuer.ts';
import { CaError } from './errors.ts';
import { type DnsIdentifier, type Identifier, parseIdentifiers, type RawIdentifier } from './identifiers.ts';
import { formatId } from './ids.ts';
import {
  explainAll,
  type IssuanceRule,
  issuanceChecks,
  type NotGiven,
  summary,
  type Verdict,
} from './issuance-policy.ts';
import { issuanceRequest } from './issuance-request.ts';
import { unknownReference } from './object-kinds.ts';
import { accountUrl } from './urls.ts';

/** An order that nobody has made. What is not given is not judged. */
export type SupposedOrder = {
  readonly identifiers: readonly RawIdentifier[];
  readonly acmeKeyId: string | undefined;
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  /** Address of the client that would send it. */
  readonly remoteIp: string | undefined;
  readonly keyType: LeafKeyType | undefined;
  readonly profile: string | undefined;
};

export type ExplainedRule = { readonly rule: IssuanceRule | 'caa' } & Verdict;

export type Explanation = {
  readonly wouldBeAccepted: boolean;
  /** In the order in which they decide: the first that fails is the one that a client would hear of. */
  readonly rules: readonly ExplainedRule[];
  /** One for each DNS name, where CAA is looked up. */
  readonly caa: readonly CaaFinding[];
};

/**
 * What would become of the order if it were sent now. Writes nothing; asks DNS where CAA applies. Throws `not_found` for
 * the directory, `invalid` for an address that is none, `unknown_reference` for an account that is not of this directory.
 */
export async function explainOrder(
  ca: Ca,
  directoryId: string,
  order: SupposedOrder,
  signal: AbortSignal,
): Promise<Explanation> {
  const { db } = ca.database;
  const now = ca.clock.now();
  const clientAddress = addressOf(order.remoteIp);
  const directory = await requireDirectory(db, directoryId);
  const account = await accountOf(db, directory, order.acmeKeyId);
  const parsed = parseIdentifiers(order.identifiers);
  const { issuer } = await issuerOf(db, directory);
  const request = issuanceRequest(
    directory,
    issuer,
    { ...order, parsed },
    {
      now,
      keyType: order.keyType ?? 'not_given',
      clientAddress,
      accountState: account?.state ?? 'not_given',
    },
  );
  const rules = explainAll(issuanceChecks, request);
  const names = account?.order_validations === 'auto_approve' ? [] : parsed.identifiers.filter(isName);
  const caa = await caaOf(ca, directory, order.acmeKeyId, names, signal);
  const all = [...rules, caaRule(caa, account)];
  return { wouldBeAccepted: all.every(({ outcome }) => outcome !== 'fail'), rules: all, caa };
}

/** The rules by name, in order. */
export const explainedRules = [...issuanceChecks.map(({ rule }) => rule), 'caa'] as const;

function addressOf(text: string | undefined): Address | NotGiven {
  if (text === undefined) return 'not_given';
  const address = parseClientAddress(text);
  if (!address.ok) throw new CaError('invalid', address.refusal, { field: 'remote_ip' });
  return address.value;
}

async function accountOf(db: Db, directory: DirectoryRow, id: string | undefined): Promise<AcmeKeyRow | undefined> {
  if (id === undefined) return undefined;
  const account = await findAcmeKey(db, id);
  if (account === undefined) throw unknownReference('acme_key', id);
  if (account.directory_id === directory.id) return account;
  const detail = `Account key ${formatId('acmk', id)} is one of directory ${formatId('dir', account.directory_id)}.`;
  throw new CaError('unknown_reference', detail, { field: 'acme_key_id' });
}

async function caaOf(
  ca: Ca,
  directory: DirectoryRow,
  acmeKeyId: string | undefined,
  names: readonly DnsIdentifier[],
  signal: AbortSignal,
): Promise<readonly CaaFinding[]> {
  const policy = {
    caaTag: directory.caa_tag,
    onMissingCaa: directory.on_missing_caa,
    accountUrls: acmeKeyId === undefined ? [] : await accountUrlsOf(ca, directory, acmeKeyId),
  };
  const questions = names.map((identifier) => ({ identifier, methods: offeredChallenges(identifier) }));
  return checkCaa(ca, policy, questions, signal);
}

/** CAA-7: an account has a URL under each slug. */
async function accountUrlsOf(ca: Ca, { id }: DirectoryRow, acmeKeyId: string): Promise<readonly string[]> {
  const slugs = await listSlugsOfDirectory(ca.database.db, id);
  return slugs.map((slug) => accountUrl(ca.urls, slug, acmeKeyId));
}

/** CAA-12, CAA-13: addresses have none, and what is approved without a challenge causes no network traffic. */
function caaRule(findings: readonly CaaFinding[], account: AcmeKeyRow | undefined): ExplainedRule {
  if (account?.order_validations === 'auto_approve') {
    const detail = 'Orders of this account are approved without a challenge, so CAA is not looked up.';
    return { rule: 'caa', outcome: 'not_applicable', detail };
  }
  if (findings.length === 0) return { rule: 'caa', outcome: 'not_applicable', detail: 'There is no DNS name.' };
  const identifiers = findings.map(({ identifier: { type, value }, verdict: { allowed, detail } }) => ({
    identifier: { type, value },
    outcome: allowed ? ('pass' as const) : ('fail' as const),
    detail,
  }));
  return { rule: 'caa', ...summary(identifiers, 'CAA allows all DNS names.') };
}

const isName = (identifier: Identifier): identifier is DnsIdentifier => identifier.type === 'dns';
