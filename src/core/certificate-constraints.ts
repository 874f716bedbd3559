// Name constraints on their ways: from /v1 and from certificates to what the core enforces, and back.
import type { NameConstraints as StoredNameConstraints } from '../store/tables.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { NameConstraints as EncodedNameConstraints } from '../x509/name-constraints.ts';
import { type NameConstraints, type NameConstraintsInput, parseNameConstraints } from './name-constraints.ts';

const noConstraints: NameConstraints = { permittedDns: [], excludedDns: [], permittedIp: [], excludedIp: [] };

/** Of a certificate: lists that are absent are empty. Not ok where a subtree is of a form that is not enforced here. */
export function constraintsOf({ extensions }: Certificate): ReturnType<typeof parseNameConstraints> {
  const found = extensions.nameConstraints;
  if (found === undefined) return { ok: true, value: noConstraints };
  return parseNameConstraints({
    permitted_dns: found.permittedDns,
    excluded_dns: found.excludedDns,
    permitted_ip: found.permittedIp,
    excluded_ip: found.excludedIp,
  } satisfies NameConstraintsInput);
}

/** As rows hold them and /v1 shows them: without empty lists; null when there is nothing else. */
export function storedConstraints(constraints: NameConstraints): StoredNameConstraints | null {
  const lists = {
    permitted_dns: constraints.permittedDns,
    excluded_dns: constraints.excludedDns,
    permitted_ip: constraints.permittedIp,
    excluded_ip: constraints.excludedIp,
  };
  const filled = Object.entries(lists).filter(([, list]) => list.length > 0);
  return filled.length === 0
    ? null
    : Object.fromEntries(filled.map(([name, list]) => [name, list.map(({ text }) => text)]));
}

/** As a certificate is to hold them; undefined when it needs no such extension. */
export function encodedConstraints(constraints: NameConstraints): EncodedNameConstraints | undefined {
  const { permittedDns, excludedDns, permittedIp, excludedIp } = constraints;
  if ([permittedDns, excludedDns, permittedIp, excludedIp].every((list) => list.length === 0)) return undefined;
  const domain = ({ text }: NameConstraints['permittedDns'][number]) => text;
  // A single address is a network too.
  const network = ({ text, prefixBits }: NameConstraints['permittedIp'][number]) =>
    text.includes('/') ? text : `${text}/${prefixBits}`;
  return {
    permittedDns: permittedDns.map(domain),
    excludedDns: excludedDns.map(domain),
    permittedIp: permittedIp.map(network),
    excludedIp: excludedIp.map(network),
  };
}
