// Who may get which certificate from a directory: an ordered list of pure checks, the same for new orders, finalize and explain.
import type { AcmeKeyState, CertType, KeyAvailability, LeafKeyType, ProfileName } from '../resources/fields.ts';
import { quoted } from '../schema/field-problem.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { type Address, type AddressRange, rangeOf } from './addresses.ts';
import type { DnsPatternSet } from './dns-patterns.ts';
import type { Identifier, IdentifierRefusal, RawIdentifier } from './identifiers.ts';
import { type ConstrainingCert, nameConstraintViolation } from './name-constraints.ts';
import { certificateValidity } from './validity.ts';

export type IssuanceRule =
  | 'directory_active'
  | 'client_address'
  | 'account_state'
  | 'identifier_syntax'
  | 'issuer_usable'
  | 'profile'
  | 'names_allowed'
  | 'addresses_allowed'
  | 'name_constraints'
  | 'key_type'
  | 'validity';

export type DirectoryPolicy = {
  /** As messages call it: the slug, which clients know from the URL. */
  readonly name: string;
  readonly deleted: boolean;
  readonly allowedDns: DnsPatternSet;
  readonly allowedIp: readonly AddressRange[];
  readonly remoteIps: readonly AddressRange[];
  readonly certMinDays: number;
  readonly certMaxDays: number;
  readonly profiles: readonly ProfileName[];
  readonly allowedKeyTypes: readonly LeafKeyType[];
};

export type IssuerPolicy = {
  readonly name: string;
  readonly state: 'pending' | 'active' | 'revoked';
  readonly deleted: boolean;
  readonly certType: CertType;
  readonly keyAvailability: KeyAvailability;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Name of a CA cert above it that is revoked: nobody trusts what stands below that. */
  readonly revokedAbove: string | undefined;
  /** Name constraints of the issuer and all CA certs above it. */
  readonly chain: readonly ConstrainingCert[];
};

/** Said on purpose where a fact does not exist yet (the key of a new order) or is left out (explain): its rule does not apply. */
export type NotGiven = 'not_given';

/** Everything that the decision depends on. */
export type IssuanceRequest = {
  readonly now: Date;
  readonly orderedAt: Date;
  readonly directory: DirectoryPolicy;
  readonly issuer: IssuerPolicy;
  /** The names to be signed, not the ones once asked for. */
  readonly identifiers: readonly Identifier[];
  readonly malformed: readonly IdentifierRefusal[];
  readonly notBefore: Date | undefined;
  readonly notAfter: Date | undefined;
  readonly profile: string | undefined;
  readonly keyType: LeafKeyType | NotGiven;
  readonly clientAddress: Address | NotGiven;
  readonly accountState: AcmeKeyState | NotGiven;
};

export type IdentifierVerdict = {
  readonly identifier: RawIdentifier;
  readonly outcome: 'pass' | 'fail';
  readonly detail: string;
};
export type Verdict = {
  readonly outcome: 'pass' | 'fail' | 'not_applicable';
  readonly detail: string;
  /** For rules that look at each identifier by itself. */
  readonly identifiers?: readonly IdentifierVerdict[];
};
export type IssuanceCheck = { readonly rule: IssuanceRule; readonly decide: (request: IssuanceRequest) => Verdict };

type Subproblem = { readonly rule: IssuanceRule; readonly identifier: RawIdentifier; readonly detail: string };
export type Refusal = {
  readonly rule: IssuanceRule;
  readonly detail: string;
  readonly subproblems: readonly Subproblem[];
};

/** In the order in which they refuse: who asks, for what, from whom, and for how long. */
export const issuanceChecks: readonly IssuanceCheck[] = [
  { rule: 'directory_active', decide: directoryActive },
  { rule: 'client_address', decide: clientAddress }, // SEC-37: the address behind trusted proxies
  { rule: 'account_state', decide: accountState },
  { rule: 'identifier_syntax', decide: identifierSyntax }, // ORD-4 to ORD-10
  { rule: 'issuer_usable', decide: issuerUsable },
  { rule: 'profile', decide: profileOffered }, // PRF-1, PRF-2
  { rule: 'names_allowed', decide: namesAllowed }, // ORD-11, ORD-12
  { rule: 'addresses_allowed', decide: addressesAllowed }, // ORD-11
  { rule: 'name_constraints', decide: nameConstraints }, // SEC-25
  { rule: 'key_type', decide: keyType },
  { rule: 'validity', decide: validity }, // ORD-14 to ORD-17
];

/** Every rule with its verdict, in order. */
export const explainAll = (
  checks: readonly IssuanceCheck[],
  request: IssuanceRequest,
): readonly ({ readonly rule: IssuanceRule } & Verdict)[] =>
  checks.map(({ rule, decide }) => ({ rule, ...decide(request) }));

/** The rule that refuses. Where it is about identifiers, every identifier that any rule refuses is listed once (ERR-2). */
export function firstRefusal(checks: readonly IssuanceCheck[], request: IssuanceRequest): Refusal | undefined {
  const failed = checks.find(({ decide }) => decide(request).outcome === 'fail');
  if (failed === undefined) return undefined;
  const { detail, identifiers } = failed.decide(request);
  if (identifiers === undefined) return { rule: failed.rule, detail, subproblems: [] };
  const subproblems = new Map<string, Subproblem>();
  for (const { rule, identifiers: verdicts = [] } of explainAll(checks, request)) {
    for (const { identifier, outcome, detail: sentence } of verdicts) {
      const key = `${identifier.type}:${identifier.value}`;
      if (outcome === 'fail' && !subproblems.has(key)) subproblems.set(key, { rule, identifier, detail: sentence });
    }
  }
  return { rule: failed.rule, detail, subproblems: [...subproblems.values()] };
}

const pass = (detail: string): Verdict => ({ outcome: 'pass', detail });
const fail = (detail: string): Verdict => ({ outcome: 'fail', detail });
const notApplicable = (detail: string): Verdict => ({ outcome: 'not_applicable', detail });

function directoryActive({ directory }: IssuanceRequest): Verdict {
  return directory.deleted
    ? fail(`Directory ${directory.name} was deleted.`)
    : pass(`Directory ${directory.name} is active.`);
}

function clientAddress({ directory, clientAddress: address }: IssuanceRequest): Verdict {
  const { name, remoteIps } = directory;
  if (remoteIps.length === 0) return pass(`Directory ${name} may be used from every address.`);
  if (address === 'not_given') return notApplicable('No client address is given.');
  const range = rangeOf(remoteIps, address);
  return range === undefined
    ? fail(
        `Directory ${name} may be used from ${someOf(remoteIps.map(({ text }) => text))}; ${address.text} is outside.`,
      )
    : pass(`${address.text} lies in ${range.text}.`);
}

function accountState({ accountState: state }: IssuanceRequest): Verdict {
  if (state === 'not_given') return notApplicable('No account is given.');
  return state === 'valid'
    ? pass('The account is valid.')
    : fail(`The account is ${state}; only a valid one gets certificates.`);
}

function identifierSyntax({ identifiers, malformed }: IssuanceRequest): Verdict {
  const bad = malformed.map(({ identifier, detail }) => ({ identifier, outcome: 'fail' as const, detail }));
  const good = identifiers.map((identifier) => ({
    identifier: raw(identifier),
    outcome: 'pass' as const,
    detail: 'Well-formed.',
  }));
  if (bad.length === 0 && good.length === 0) return fail('There is no identifier.');
  return summary([...bad, ...good], 'All identifiers are well-formed.');
}

function issuerUsable({ issuer, directory, now }: IssuanceRequest): Verdict {
  const problem = issuerProblem(issuer, now);
  return problem === undefined
    ? pass(`CA cert ${issuer.name} can sign.`)
    : fail(`CA cert ${issuer.name} ${problem}; directory ${directory.name} needs another one.`);
}

/** Why a CA cert cannot sign leaves now, as the end of a sentence. */
export function issuerProblem(issuer: IssuerPolicy, now: Date): string | undefined {
  if (issuer.deleted) return 'was deleted';
  if (issuer.state === 'revoked') return 'is revoked';
  if (issuer.revokedAbove !== undefined) return `stands below CA cert ${issuer.revokedAbove}, which is revoked`;
  if (issuer.state === 'pending') return 'has no certificate yet';
  if (issuer.certType !== 'intermediate') return 'is a root, which signs no certificates of a directory';
  if (issuer.keyAvailability !== 'online') return 'has its key offline';
  if (issuer.notBefore > now) return `begins only on ${formatSeconds(issuer.notBefore)}`;
  return issuer.notAfter <= now ? `ended on ${formatSeconds(issuer.notAfter)}` : undefined;
}

function profileOffered({ directory, profile }: IssuanceRequest): Verdict {
  const { name, profiles } = directory;
  if (profile === undefined) return pass(`No profile is asked for; directory ${name} uses ${profiles[0]}.`);
  return profiles.some((offered) => offered === profile)
    ? pass(`Directory ${name} offers profile ${profile}.`)
    : fail(`Directory ${name} offers the profiles ${profiles.join(', ')}; ${quoted(profile, 40)} is not one of them.`);
}

function namesAllowed({ directory, identifiers }: IssuanceRequest): Verdict {
  const { name, allowedDns } = directory;
  const names = identifiers.filter((identifier) => identifier.type === 'dns');
  if (names.length === 0) return notApplicable('There is no DNS name.');
  const allowed = someOf(allowedDns.patterns.map(({ text }) => text));
  const rule =
    allowed === '' ? `Directory ${name} allows no DNS names` : `Directory ${name} allows names under ${allowed}`;
  return summary(
    names.map((identifier) => {
      const pattern = allowedDns.find(identifier);
      return verdictOn(identifier, pattern?.text, `matches ${pattern?.text}`, rule);
    }),
    `Directory ${name} allows all DNS names asked for.`,
  );
}

function addressesAllowed({ directory, identifiers }: IssuanceRequest): Verdict {
  const { name, allowedIp } = directory;
  const addresses = identifiers.filter((identifier) => identifier.type === 'ip');
  if (addresses.length === 0) return notApplicable('There is no IP address.');
  const allowed = someOf(allowedIp.map(({ text }) => text));
  const rule =
    allowed === '' ? `Directory ${name} allows no IP addresses` : `Directory ${name} allows addresses in ${allowed}`;
  return summary(
    addresses.map((identifier) => {
      const range = rangeOf(allowedIp, identifier.address);
      return verdictOn(identifier, range?.text, `lies in ${range?.text}`, rule);
    }),
    `Directory ${name} allows all addresses asked for.`,
  );
}

function nameConstraints({ issuer, identifiers }: IssuanceRequest): Verdict {
  if (issuer.chain.length === 0) return notApplicable('The issuing chain has no name constraints.');
  return summary(
    identifiers.map((identifier) => {
      const violation = nameConstraintViolation(issuer.chain, identifier);
      return violation === undefined
        ? { identifier: raw(identifier), outcome: 'pass', detail: `The issuing chain permits ${identifier.value}.` }
        : { identifier: raw(identifier), outcome: 'fail', detail: violation };
    }),
    'The issuing chain permits all names and addresses.',
  );
}

function keyType({ directory, keyType: type }: IssuanceRequest): Verdict {
  const { name, allowedKeyTypes } = directory;
  if (type === 'not_given')
    return notApplicable(`The key comes with the CSR; directory ${name} takes ${allowedKeyTypes.join(', ')}.`);
  return allowedKeyTypes.includes(type)
    ? pass(`Directory ${name} takes keys of type ${type}.`)
    : fail(`Directory ${name} takes keys of type ${allowedKeyTypes.join(', ')}; ${type} is not one of them.`);
}

function validity(request: IssuanceRequest): Verdict {
  const result = certificateValidity(request);
  if (!result.ok) return fail(result.refusal);
  const { notBefore, notAfter } = result.value;
  return pass(`The certificate lives from ${formatSeconds(notBefore)} to ${formatSeconds(notAfter)}.`);
}

const raw = ({ type, value }: Identifier): RawIdentifier => ({ type, value });

const verdictOn = (
  identifier: Identifier,
  found: string | undefined,
  match: string,
  rule: string,
): IdentifierVerdict =>
  found === undefined
    ? { identifier: raw(identifier), outcome: 'fail', detail: `${rule}; ${identifier.value} is outside.` }
    : { identifier: raw(identifier), outcome: 'pass', detail: `${identifier.value} ${match}.` };

/** Fails where one identifier fails. */
export function summary(identifiers: readonly IdentifierVerdict[], whenAllPass: string): Verdict {
  const [first, ...others] = identifiers.filter(({ outcome }) => outcome === 'fail');
  if (first === undefined) return { outcome: 'pass', detail: whenAllPass, identifiers };
  const more =
    others.length === 0
      ? ''
      : ` ${others.length} more ${others.length === 1 ? 'identifier is' : 'identifiers are'} refused.`;
  return { outcome: 'fail', detail: first.detail + more, identifiers };
}

const SHOWN = 5;
/** The first few of a list that may be long. */
const someOf = (texts: readonly string[]): string =>
  texts.length <= SHOWN ? texts.join(', ') : `${texts.slice(0, SHOWN).join(', ')} and ${texts.length - SHOWN} more`;
