// Name constraints below name constraints: a CA cert that permits what its chain forbids could never use it.
import { type AddressRange, rangeHolds } from './addresses.ts';
import type { FieldProblem } from './errors.ts';
import type { ConstrainingCert, DnsSubtree, NameConstraints } from './name-constraints.ts';

/** Every permitted subtree that the chain above does not let pass as a whole, by its field inside `name_constraints`. */
export function permittedBeyondChain(
  chain: readonly ConstrainingCert[],
  { permittedDns, permittedIp }: NameConstraints,
): readonly FieldProblem[] {
  return chain.flatMap(({ name, constraints }) => [
    ...beyond('permitted_dns', name, permittedDns, constraints.permittedDns, constraints.excludedDns, isDomainWithin),
    ...beyond('permitted_ip', name, permittedIp, constraints.permittedIp, constraints.excludedIp, isRangeWithin),
  ]);
}

function beyond<Subtree extends { readonly text: string }>(
  list: 'permitted_dns' | 'permitted_ip',
  parent: string,
  own: readonly Subtree[],
  permitted: readonly Subtree[],
  excluded: readonly Subtree[],
  isWithin: (inner: Subtree, outer: Subtree) => boolean,
): readonly FieldProblem[] {
  return own.flatMap((subtree, index) => {
    const field = `${list}[${index}]`;
    const problem = (why: string) => [{ field, code: 'outside_parent', message: `CA cert ${parent} ${why}` }];
    const forbidding = excluded.find((outer) => isWithin(subtree, outer));
    if (forbidding !== undefined) return problem(`excludes ${shown(forbidding)}, and ${shown(subtree)} is in it`);
    if (permitted.length === 0 || permitted.some((outer) => isWithin(subtree, outer))) return [];
    return problem(`permits only ${permitted.map(shown).join(', ')}; ${shown(subtree)} goes beyond`);
  });
}

function isDomainWithin(inner: DnsSubtree, outer: DnsSubtree): boolean {
  if (outer.base === '') return true;
  if (inner.base === outer.base) return outer.withBase || !inner.withBase;
  return inner.base.endsWith(`.${outer.base}`);
}

const isRangeWithin = (inner: AddressRange, outer: AddressRange): boolean =>
  inner.prefixBits >= outer.prefixBits && rangeHolds(outer, inner);

const shown = ({ text }: { readonly text: string }): string => (text === '' ? 'every name' : text);
