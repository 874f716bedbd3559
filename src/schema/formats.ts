// String formats: what each accepts beyond its pattern, and the words that tell a caller what was expected.
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { ADDRESS_RANGE } from './address-pattern.ts';
import { parseTimestamp } from './timestamp.ts';

type Format = {
  readonly expected: string;
  readonly accepts: (text: string) => boolean;
  /** What the caller probably meant, as a continuation of the message. */
  readonly hint?: (text: string) => string | undefined;
  /** How a CRD says what `accepts` says beyond the pattern: a format of Kubernetes or a CEL rule. */
  readonly inCrd?: { readonly format: string } | { readonly rule: string };
};

export const anything = (): boolean => true;

/** The A-label form of a name with other letters, for messages; undefined where there is none. */
export function asciiForm(name: string): string | undefined {
  const [, wildcard = '', rest = ''] = /^((?:\*\*?\.)?)(.*)$/s.exec(name.slice(0, 300)) ?? [];
  const ascii = domainToASCII(rest);
  return ascii === '' || ascii === rest ? undefined : wildcard + ascii;
}

const nameHint = (text: string): string | undefined => {
  const ascii = /[^\p{ASCII}]/u.test(text) ? asciiForm(text) : undefined;
  return ascii === undefined ? undefined : `write it as ${ascii}`;
};

const isUrl = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') && url.hostname !== '';
};

const isRange = (text: string): boolean => {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
};

export const formats = {
  'object-name': { expected: 'a name of 1 to 200 characters without control characters', accepts: anything },
  slug: { expected: 'a slug: 1 to 63 characters of a-z, 0-9 and inner "-"', accepts: anything },
  'key-id': {
    expected: 'a key id: 1 to 128 characters of A-Z, a-z, 0-9, ".", "_" and "-", not beginning with "eab_"',
    accepts: (text) => !text.startsWith('eab_'),
    inCrd: { rule: "!self.startsWith('eab_')" },
  },
  'dns-name': { expected: 'a DNS name such as ca.corp.example', accepts: anything, hint: nameHint },
  'dns-subtree': { expected: 'a DNS name without wildcard, such as corp.example', accepts: anything, hint: nameHint },
  'dns-pattern': {
    expected: 'a DNS pattern: a name, "*." or "**." and a name, "**" for any name or "*" for any single-label name',
    accepts: anything,
    hint: nameHint,
  },
  'address-range': {
    expected: 'an IP address or a range such as 10.0.0.0/8 or fd00::/8',
    accepts: isRange,
    inCrd: { rule: `self.matches(r'${ADDRESS_RANGE}')` },
  },
  'date-time': {
    expected: 'a timestamp with a zone, such as 2026-03-01T12:00:00Z',
    accepts: (text) => parseTimestamp(text) !== undefined,
    // A plus sign in a query string stands for a space.
    hint: (text) => (/ \d\d:\d\d$/.test(text) ? 'write + as %2B in a URL' : undefined),
    inCrd: { format: 'date-time' },
  },
  'ip-address': { expected: 'an IP address', accepts: (text) => isIP(text) !== 0 },
  'serial-number': { expected: 'a serial number in hex, such as 7f01 or 7F:01', accepts: anything },
  'http-url': {
    expected: 'an http or https URL',
    accepts: isUrl,
    inCrd: { rule: "isURL(self) && url(self).getHostname() != ''" },
  },
  uri: {
    expected: 'a URI such as mailto:ops@corp.example',
    accepts: (text) => URL.canParse(text),
    inCrd: { format: 'uri' },
  },
  'country-code': { expected: 'two capital letters, such as DE', accepts: anything },
  date: { expected: 'a date such as 2026-03-01', accepts: (text) => parseTimestamp(`${text}T00:00:00Z`) !== undefined },
  pem: { expected: 'PEM text', accepts: anything },
} satisfies Record<string, Format>;

export type FormatName = keyof typeof formats;

export const formatNamed = (name: unknown): Format | undefined =>
  typeof name === 'string' && Object.hasOwn(formats, name) ? formats[name as FormatName] : undefined;
