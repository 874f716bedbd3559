// The rules of a directory: from what a caller wrote to what is stored, and from there to what the checks use.
import type { DirectoryUpdate, LeafKeyType, ProfileName } from '../resources/fields.ts';
import type { Checked, FieldProblem } from '../schema/validator.ts';
import { parseAddressRange } from './addresses.ts';
import { parseDnsName } from './dns-names.ts';
import { dnsPatternSet, parseDnsPattern } from './dns-patterns.ts';
import type { DirectoryPolicy } from './issuance-policy.ts';
import { type Parsed, parsed } from './parsed.ts';

type Days = { readonly certMinDays: number; readonly certMaxDays: number };

const canonicalPattern = (text: string) => textOf(parseDnsPattern(text));
const canonicalRange = (text: string) => textOf(parseAddressRange(text));

/**
 * The fields in their canonical form, each list item once, or every problem that the schema cannot see. `current` are the
 * days that stand where the input names only one limit.
 */
export function canonicalDirectory<T extends DirectoryUpdate>(input: T, current: Days): Checked<T & DirectoryUpdate> {
  const problems: FieldProblem[] = [];
  const read = (field: string, text: string, parse: (text: string) => Parsed<string>): readonly string[] => {
    const result = parse(text);
    if (result.ok) return [result.value];
    problems.push({ field, code: 'bad_format', message: result.refusal });
    return [];
  };
  const list = (field: ListField, parse: (text: string) => Parsed<string>) => {
    const texts = input[field];
    if (texts === undefined) return {};
    return { [field]: [...new Set(texts.flatMap((text, index) => read(`${field}[${index}]`, text, parse)))] };
  };
  const value = {
    ...input,
    ...list('allowed_dns_identifiers', canonicalPattern),
    ...list('allowed_ip_identifiers', canonicalRange),
    ...list('remote_ip_whitelist', canonicalRange),
    ...(input.caa_tag === undefined
      ? {}
      : { caa_tag: read('caa_tag', input.caa_tag, parseDnsName)[0] ?? input.caa_tag }),
  };
  problems.push(...daysProblem(input, current));
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

type ListField = 'allowed_dns_identifiers' | 'allowed_ip_identifiers' | 'remote_ip_whitelist';

/** Named at the limit that the caller moved. */
function daysProblem(input: DirectoryUpdate, current: Days): readonly FieldProblem[] {
  const shortest = input.cert_min_days ?? current.certMinDays;
  const longest = input.cert_max_days ?? current.certMaxDays;
  if (shortest <= longest) return [];
  const field = input.cert_min_days === undefined ? 'cert_max_days' : 'cert_min_days';
  const message = `cert_min_days (${shortest}) must not be above cert_max_days (${longest})`;
  return [{ field, code: 'out_of_range', message }];
}

/** A directory as it is stored: lists in canonical text. */
export type StoredDirectoryRules = Days & {
  readonly name: string;
  readonly deleted: boolean;
  readonly allowedDns: readonly string[];
  readonly allowedIp: readonly string[];
  readonly remoteIps: readonly string[];
  readonly profiles: readonly ProfileName[];
  readonly allowedKeyTypes: readonly LeafKeyType[];
};

/** Compiled for the checks; worth keeping by (id, version). Throws where the database holds what was never accepted. */
export const directoryPolicy = (stored: StoredDirectoryRules): DirectoryPolicy => ({
  ...stored,
  allowedDns: dnsPatternSet(stored.allowedDns.map((text) => accepted(parseDnsPattern(text)))),
  allowedIp: stored.allowedIp.map((text) => accepted(parseAddressRange(text))),
  remoteIps: stored.remoteIps.map((text) => accepted(parseAddressRange(text))),
});

function accepted<T>(result: Parsed<T>): T {
  if (result.ok) return result.value;
  throw new Error(`a stored directory rule cannot be read: ${result.refusal}`);
}

const textOf = (result: Parsed<{ readonly text: string }>): Parsed<string> =>
  result.ok ? parsed(result.value.text) : result;
