// One look for what proves control of an identifier, and for the CAA records of its name. It changes nothing.
import type { StoredProblem } from '../store/tables.ts';
import type { Ca } from './ca.ts';
import { checkCaa } from './caa.ts';
import { offeredChallenges } from './challenge-offers.ts';
import type { ChallengeClaim } from './challenge-results.ts';
import { type Identifier, parseIdentifier } from './identifiers.ts';
import type { Probe } from './ports.ts';
import { accountUrl } from './urls.ts';

export type Finding =
  | { readonly outcome: 'met'; readonly caaCheckedAt: Date | null }
  | { readonly outcome: 'busy' }
  | { readonly outcome: 'failed'; readonly problem: StoredProblem };

/** Why there is nothing to look for any more, or never was (AUT-8). */
export function obstacleOf(
  { type, state, expires_at, ...claim }: ChallengeClaim,
  now: Date,
): StoredProblem | undefined {
  if (state !== 'pending' || expires_at <= now)
    return { type: 'unauthorized', detail: 'The authorization of the challenge is no longer pending.' };
  if (!offeredChallenges(identifierOf(claim)).includes(type))
    return { type: 'unauthorized', detail: `${type} cannot validate ${claim.value}.` };
  return undefined;
}

/**
 * Asks the network whether the challenge is met, and then, or when its caller began to, whether CAA allows it. Rejects
 * with the reason of the signal.
 */
export async function lookFor(
  ca: Ca,
  claim: ChallengeClaim,
  signal: AbortSignal,
  caa = () => lookUpCaa(ca, claim, signal),
): Promise<Finding> {
  const found = await ca.prober(probeOf(claim), signal);
  switch (found.outcome) {
    case 'busy':
      return { outcome: 'busy' };
    case 'failed':
      return { outcome: 'failed', problem: { type: found.type, detail: found.detail } };
    case 'valid':
      return caa();
  }
}

export async function lookUpCaa(ca: Ca, claim: ChallengeClaim, signal: AbortSignal): Promise<Finding> {
  const identifier = identifierOf(claim);
  // CAA-12.
  if (identifier.type === 'ip') return { outcome: 'met', caaCheckedAt: null };
  const caaCheckedAt = ca.clock.now();
  const accountUrls = claim.slugs.map((slug) => accountUrl(ca.urls, slug, claim.acme_key_id));
  const policy = { caaTag: claim.caa_tag, onMissingCaa: claim.on_missing_caa, accountUrls };
  const [finding] = await checkCaa(ca, policy, [{ identifier, methods: [claim.type] }], signal);
  return finding?.verdict.allowed === true
    ? { outcome: 'met', caaCheckedAt }
    : { outcome: 'failed', problem: { type: 'caa', detail: finding?.verdict.detail ?? 'CAA was not looked up.' } };
}

const probeOf = (claim: ChallengeClaim): Probe => ({
  type: claim.type,
  identifier: { type: claim.identifier_type, value: claim.value },
  token: claim.token,
  keyAuthorization: claim.key_authorization,
  accountUrl: claim.account_url,
  directoryId: claim.directory_id,
});

/** As it was ordered. */
function identifierOf({
  identifier_type: type,
  value,
  wildcard,
}: Pick<ChallengeClaim, 'identifier_type' | 'value' | 'wildcard'>): Identifier {
  const parsed = parseIdentifier({ type, value: wildcard ? `*.${value}` : value });
  if (!parsed.ok) throw new Error(`an authorization is for ${type} ${value}, which cannot be ordered`);
  return parsed.identifier;
}
