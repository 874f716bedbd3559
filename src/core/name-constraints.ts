// Name constraints of CA certs (RFC 5280 section 4.2.1.10) for DNS names and addresses, along the whole chain (SEC-25).
import type { FieldProblem } from '../schema/validator.ts';
import { type AddressRange, parseAddressRange, rangeOf } from './addresses.ts';
import { parseDnsName } from './dns-names.ts';
import type { Identifier } from './identifiers.ts';
import { type Parsed, parsed } from './parsed.ts';

/** A domain with all below it, or only what is below; the empty base is the root, which holds every name. */
export type DnsSubtree = { readonly text: string; readonly base: string; readonly withBase: boolean };

export type NameConstraints = {
  readonly permittedDns: readonly DnsSubtree[];
  readonly excludedDns: readonly DnsSubtree[];
  readonly permittedIp: readonly AddressRange[];
  readonly excludedIp: readonly AddressRange[];
};

/** One CA cert of the chain; the order does not matter. */
export type ConstrainingCert = { readonly name: string; readonly constraints: NameConstraints };

export type NameConstraintsInput = {
  readonly permitted_dns?: readonly string[];
  readonly excluded_dns?: readonly string[];
  readonly permitted_ip?: readonly string[];
  readonly excluded_ip?: readonly string[];
};

/** A subtree as `name_constraints` and certificates write it; a leading dot leaves out the domain itself. */
export function parseDnsSubtree(text: string): Parsed<DnsSubtree> {
  if (text === '') return parsed({ text: '', base: '', withBase: true });
  const withBase = !text.startsWith('.');
  const base = parseDnsName(withBase ? text : text.slice(1));
  return base.ok ? parsed({ text: `${withBase ? '' : '.'}${base.value}`, base: base.value, withBase }) : base;
}

/** Every problem at once, with fields relative to `name_constraints`. */
export function parseNameConstraints(
  input: NameConstraintsInput,
):
  | { readonly ok: true; readonly value: NameConstraints }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] } {
  const problems: FieldProblem[] = [];
  const read = <T>(field: keyof NameConstraintsInput, parse: (text: string) => Parsed<T>): readonly T[] =>
    (input[field] ?? []).flatMap((text, index) => {
      const result = parse(text);
      if (result.ok) return [result.value];
      problems.push({ field: `${field}[${index}]`, code: 'bad_format', message: result.refusal });
      return [];
    });
  const value = {
    permittedDns: read('permitted_dns', parseDnsSubtree),
    excludedDns: read('excluded_dns', parseDnsSubtree),
    permittedIp: read('permitted_ip', parseAddressRange),
    excludedIp: read('excluded_ip', parseAddressRange),
  };
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

/** Why a certificate for this identifier would be refused by verifiers; undefined when the whole chain lets it pass. */
export function nameConstraintViolation(
  chain: readonly ConstrainingCert[],
  identifier: Identifier,
): string | undefined {
  for (const { name, constraints } of chain) {
    const violation = violationOf(constraints, identifier);
    if (violation !== undefined) return `CA cert ${name} ${violation}`;
  }
  return undefined;
}

function violationOf(constraints: NameConstraints, identifier: Identifier): string | undefined {
  const { value } = identifier;
  const { excluded, permitted, permits } =
    identifier.type === 'dns'
      ? {
          excluded: constraints.excludedDns.find((subtree) => mayReach(subtree, identifier)),
          permitted: constraints.permittedDns,
          permits: constraints.permittedDns.some((subtree) => holds(subtree, identifier)),
        }
      : {
          excluded: rangeOf(constraints.excludedIp, identifier.address),
          permitted: constraints.permittedIp,
          permits: rangeOf(constraints.permittedIp, identifier.address) !== undefined,
        };
  if (excluded !== undefined)
    return `excludes ${excluded.text === '' ? 'every name' : excluded.text}; ${value} is in it.`;
  if (permitted.length === 0 || permits) return undefined;
  return `permits only ${permitted.map(({ text }) => text).join(', ')}; ${value} is outside.`;
}

type DnsParts = Pick<Identifier & { type: 'dns' }, 'name' | 'wildcard'>;

/** Every name that the identifier stands for is in the subtree. */
const holds = ({ base, withBase }: DnsSubtree, { name, wildcard }: DnsParts): boolean =>
  base === '' || name.endsWith(`.${base}`) || (name === base && (withBase || wildcard));

/** Some name that the identifier stands for is in the subtree: `*.a.b` reaches x.a.b too. */
const mayReach = (subtree: DnsSubtree, { name, wildcard }: DnsParts): boolean =>
  holds(subtree, { name, wildcard }) ||
  (wildcard && subtree.withBase && subtree.base.slice(subtree.base.indexOf('.') + 1) === name && subtree.base !== name);
