// DNS names as certificates hold them: LDH labels in lower case, A-labels that mean what they decode to, never an address.
import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import { quoted } from '../schema/field-problem.ts';
import { asciiForm } from '../schema/formats.ts';
import { type Parsed, parsed, refused } from './parsed.ts';

declare const dnsNameBrand: unique symbol;
/** A checked name in lower case, without trailing dot and without wildcard. */
export type DnsName = string & { readonly [dnsNameBrand]: true };

/** ORD-4, ORD-5, ORD-7: syntax alone; any number of labels, any top-level domain. */
export function parseDnsName(text: string): Parsed<DnsName> {
  const name = asciiLowerCase(text);
  return isDnsName(name) ? parsed(name) : refused(`${quoted(text, 80)} ${nameProblem(name) ?? 'is not a DNS name'}.`);
}

/** A-Z alone: toLowerCase() would turn the Kelvin sign into a k. */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const isDnsName = (name: string): name is DnsName => nameProblem(name) === undefined;

/** What is wrong with a lower-case name, as the end of a sentence. */
function nameProblem(name: string): string | undefined {
  if (name === '') return 'is an empty name';
  if (name.length > 253) return `has ${name.length} characters; a DNS name has at most 253`;
  if (/[^\p{ASCII}]/u.test(name)) return nonAsciiProblem(name);
  if (isIP(name) !== 0 || /^\[.*\]$/.test(name)) return 'is an IP address, not a DNS name';
  if (name.endsWith('.')) return 'ends in a dot; write it without';
  const labels = name.split('.');
  for (const label of labels) {
    const problem = labelProblem(label);
    if (problem !== undefined) return problem;
  }
  // SEC-2: each spelling of an address that inet_aton knows ends in a number, and no top-level domain does.
  if (/^(\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) {
    return 'ends in a number, so programs read it as an IP address';
  }
  return undefined;
}

function nonAsciiProblem(name: string): string {
  const ascii = asciiForm(name);
  return ascii === undefined
    ? 'has characters that no DNS name can have'
    : `has other letters than a-z; write it as ${ascii}`;
}

function labelProblem(label: string): string | undefined {
  if (label === '') return 'has an empty label';
  if (label.length > 63) return `has a label of ${label.length} characters; a label has at most 63`;
  if (!/^[a-z0-9-]+$/.test(label))
    return `has a label with other characters than a-z, 0-9 and "-": ${quoted(label, 63)}`;
  if (label.startsWith('-') || label.endsWith('-')) return `has a label that begins or ends with "-": ${label}`;
  if (label.startsWith('xn--')) return aLabelProblem(label);
  return label.slice(2, 4) === '--'
    ? `has a label with "--" in its third place, which is reserved: ${label}`
    : undefined;
}

// RFC 5892: letters, digits and marks are valid, and these exceptions; symbols, emoji and punctuation are not.
const IDNA_2008 =
  /^(?:[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\u00b7\u0375\u05f3\u05f4\u06fd\u06fe\u0f0b\u3007\u30fb-]|\u200c|\u200d)+$/u;
const DISALLOWED = /[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]/u;
/** RFC 5892 appendix A.3 to A.9: characters that are valid only in some company. */
const CONTEXT: readonly (readonly [RegExp, RegExp])[] = [
  [/\u00b7/u, /^(?:[^\u00b7]|(?<=l)\u00b7(?=l))*$/u],
  [/\u0375/u, /^(?:[^\u0375]|\u0375(?=\p{Script=Greek}))*$/u],
  [/[\u05f3\u05f4]/u, /^(?:[^\u05f3\u05f4]|(?<=\p{Script=Hebrew})[\u05f3\u05f4])*$/u],
  [/\u30fb/u, /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u],
  [/[\u0660-\u0669]/u, /^[^\u06f0-\u06f9]*$/u],
];

/**
 * ORD-5: decodes and encodes again to the same. Node's functions apply UTS 46, which lets through symbols that
 * IDNA2008 forbids, so the categories and contexts of RFC 5892 are checked here; joiners and writing direction
 * are checked by UTS 46 itself.
 */
function aLabelProblem(label: string): string | undefined {
  const decoded = domainToUnicode(label);
  const isReal = /[^\p{ASCII}]/u.test(decoded) && domainToASCII(decoded) === label;
  const isAllowed =
    IDNA_2008.test(decoded) &&
    !DISALLOWED.test(decoded) &&
    CONTEXT.every(([character, company]) => !character.test(decoded) || company.test(decoded));
  return isReal && isAllowed ? undefined : `has a label that is no internationalised name of IDNA2008: ${label}`;
}
