// DNS patterns of directories: `name`, `*.name` (exactly one more label), `**.name` (one or more), `*` and `**`.
import { quoted } from '../schema/field-problem.ts';
import { asciiForm } from '../schema/formats.ts';
import { asciiLowerCase, parseDnsName } from './dns-names.ts';
import type { DnsIdentifier } from './identifiers.ts';
import { type Parsed, parsed, refused } from './parsed.ts';

export type DnsPattern = {
  /** Lower case, without trailing dot. */
  readonly text: string;
  readonly depth: 'itself' | 'one_below' | 'all_below';
  /** The name below which the pattern matches, or that it is; empty for the root. */
  readonly base: string;
};

const depths = { '': 'itself', '*': 'one_below', '**': 'all_below' } as const;

export function parseDnsPattern(text: string): Parsed<DnsPattern> {
  const [, stars = '', dot = '', rest = ''] = /^(\*{0,2})(\.?)(.*)$/s.exec(asciiLowerCase(text)) ?? [];
  const base = rest.endsWith('.') ? rest.slice(0, -1) : rest;
  const depth = stars === '*' || stars === '**' ? depths[stars] : depths[''];
  if (depth !== 'itself' && dot === '' && rest === '') return parsed({ text: stars, depth, base: '' });
  if (base.includes('*') || (depth !== 'itself' && dot === '') || (depth === 'itself' && dot !== '') || base === '') {
    return refused(
      `${quoted(text, 80)} is not a DNS pattern: write a name, "*.name" for one more label, "**.name" for one or more, ` +
        '"*" for any single-label name or "**" for any name.',
    );
  }
  const name = parseDnsName(base);
  if (name.ok) return parsed({ text: `${stars}${dot}${name.value}`, depth, base: name.value });
  const ascii = /[^\p{ASCII}]/u.test(text) ? asciiForm(text) : undefined;
  return refused(
    ascii === undefined ? name.refusal : `${quoted(text, 80)} has other letters than a-z; write it as ${ascii}.`,
  );
}

/** The patterns of a directory, made ready once; finding one takes time by the labels of the name, not by the patterns. */
export type DnsPatternSet = {
  readonly patterns: readonly DnsPattern[];
  /** The pattern that lets the name pass, if any. */
  find(identifier: Pick<DnsIdentifier, 'value'>): DnsPattern | undefined;
};

/**
 * A wildcard passes only where every name it could match passes (ORD-12). Those names are the wildcard's own text with
 * any label for `*`, so treating `*` as one more label is right for both kinds of star, and no literal equals it.
 */
export function dnsPatternSet(patterns: readonly DnsPattern[]): DnsPatternSet {
  const byDepth = { itself: new Map(), one_below: new Map(), all_below: new Map() } as const satisfies Record<
    DnsPattern['depth'],
    Map<string, DnsPattern>
  >;
  for (const pattern of patterns) byDepth[pattern.depth].set(pattern.base, pattern);
  const find = ({ value }: Pick<DnsIdentifier, 'value'>): DnsPattern | undefined => {
    const [parent, ...further] = ancestors(value);
    return (
      byDepth.itself.get(value) ??
      byDepth.one_below.get(parent) ??
      [parent, ...further].map((ancestor) => byDepth.all_below.get(ancestor)).find((pattern) => pattern !== undefined)
    );
  };
  return { patterns, find };
}

/** From the parent of the name to the root, which is the empty name. */
function ancestors(name: string): readonly [string, ...string[]] {
  const dot = name.indexOf('.');
  if (dot === -1) return [''];
  const parent = name.slice(dot + 1);
  return [parent, ...ancestors(parent)];
}
