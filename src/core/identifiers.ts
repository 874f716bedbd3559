// Identifiers of orders: what a client asks for, in our own types, or why it cannot be asked for (ORD-4 to ORD-10).
import { quoted } from '../schema/field-problem.ts';
import { type Address, isMapped, parseAddress } from './addresses.ts';
import { type DnsName, parseDnsName } from './dns-names.ts';

/** As the client wrote it. */
export type RawIdentifier = { readonly type: string; readonly value: string };

export type DnsIdentifier = {
  readonly type: 'dns';
  /** Lower case, with `*.` where it is a wildcard: the text of the certificate. */
  readonly value: string;
  /** The name that is validated: without `*.`. */
  readonly name: DnsName;
  readonly wildcard: boolean;
};
type IpIdentifier = { readonly type: 'ip'; readonly value: string; readonly address: Address };
export type Identifier = DnsIdentifier | IpIdentifier;

/** Why one identifier cannot be ordered; doors map the kind to their own error. */
export type IdentifierRefusal = {
  readonly identifier: RawIdentifier;
  readonly kind: 'malformed' | 'unsupported_type';
  readonly detail: string;
};

export type ParsedIdentifier =
  | { readonly ok: true; readonly identifier: Identifier }
  | { readonly ok: false; readonly refusal: IdentifierRefusal };

export const maxIdentifiers = 100;

const parsers: Readonly<Record<Identifier['type'], (raw: RawIdentifier) => ParsedIdentifier>> = {
  dns: parseDns,
  ip: parseIp,
};

/** SEC-10: an unknown type is refused, never ignored. */
export const parseIdentifier = (raw: RawIdentifier): ParsedIdentifier =>
  raw.type === 'dns' || raw.type === 'ip'
    ? parsers[raw.type](raw)
    : refuse(
        raw,
        `Identifiers of type ${quoted(raw.type, 40)} are not supported; supported are dns and ip.`,
        'unsupported_type',
      );

export type ParsedIdentifiers = {
  readonly identifiers: readonly Identifier[];
  /** The same as the client wrote them (ORD-2). */
  readonly written: readonly (Pick<Identifier, 'type'> & { readonly value: string })[];
  readonly refusals: readonly IdentifierRefusal[];
};

/** All identifiers of a request, each once as it came first, in the order of the request, and every one that is refused. */
export function parseIdentifiers(raws: readonly RawIdentifier[]): ParsedIdentifiers {
  const results = raws.map(parseIdentifier);
  const identifiers = new Map<string, { readonly identifier: Identifier; readonly value: string }>();
  for (const [index, result] of results.entries()) {
    if (!result.ok) continue;
    const { identifier } = result;
    const key = identifierKey(identifier);
    if (!identifiers.has(key)) identifiers.set(key, { identifier, value: raws[index]?.value ?? identifier.value });
  }
  const parsed = [...identifiers.values()];
  return {
    identifiers: parsed.map(({ identifier }) => identifier),
    written: parsed.map(({ identifier: { type }, value }) => ({ type, value })),
    refusals: results.flatMap((result) => (result.ok ? [] : [result.refusal])),
  };
}

/** Equal exactly for identifiers that are the same name or address. */
const identifierKey = ({ type, value }: Identifier): string => `${type}:${value}`;

function parseDns(raw: RawIdentifier): ParsedIdentifier {
  // ORD-8: a wildcard is the whole first label and there is only one; what remains must be a name by itself.
  const wildcard = raw.value.startsWith('*.');
  const rest = wildcard ? raw.value.slice(2) : raw.value;
  if (rest.includes('*'))
    return refuse(raw, `${quoted(raw.value, 80)} is not a wildcard name: "*" can only be the whole first label, once.`);
  const name = parseDnsName(rest);
  if (!name.ok) return refuse(raw, name.refusal);
  const value = wildcard ? `*.${name.value}` : name.value;
  if (value.length > 253)
    return refuse(raw, `${quoted(raw.value, 80)} has ${value.length} characters; a DNS name has at most 253.`);
  return { ok: true, identifier: { type: 'dns', value, name: name.value, wildcard } };
}

/** ORD-10, SEC-35: only the one text that RFC 8738 asks for. */
function parseIp(raw: RawIdentifier): ParsedIdentifier {
  const address = parseAddress(raw.value);
  if (!address.ok)
    return refuse(raw, `${address.refusal} Zones, ranges, brackets and leading zeros cannot stand in a certificate.`);
  const { text, bytes } = address.value;
  if (isMapped(bytes)) {
    return refuse(raw, `${raw.value} is an IPv4 address in IPv6 form; write ${bytes.subarray(12).join('.')}.`);
  }
  if (text !== raw.value) return refuse(raw, `${raw.value} is not in its canonical form (RFC 5952); write ${text}.`);
  return { ok: true, identifier: { type: 'ip', value: text, address: address.value } };
}

const refuse = (
  identifier: RawIdentifier,
  detail: string,
  kind: IdentifierRefusal['kind'] = 'malformed',
): ParsedIdentifier => ({ ok: false, refusal: { identifier, kind, detail } });
