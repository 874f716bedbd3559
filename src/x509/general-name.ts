// GeneralName (RFC 5280 section 4.2.1.6): dns and ip as text; the other kinds by name only, to be refused or passed over.
import { childrenOf, contentsOf, contextPrimitive, type DerNode, tags } from './der.ts';
import { type Encodable, implicit } from './der-writer.ts';
import { formatAddress, parseAddress } from './ip-address.ts';
import { X509Error } from './x509-error.ts';

export type SubjectName = { readonly type: 'dns' | 'ip'; readonly value: string };
export type GeneralName = SubjectName | { readonly type: 'uri' | 'other'; readonly value: string };

const DNS = contextPrimitive(2);
const URI = contextPrimitive(6);
const IP = contextPrimitive(7);

const kinds: Readonly<Record<number, string>> = {
  160: 'otherName',
  129: 'email',
  163: 'x400Address',
  164: 'directoryName',
  165: 'ediPartyName',
  134: 'uri',
  136: 'registeredID',
};

// Letters, digits, hyphens, the underscore of service names and the wildcard: nothing that a C string, a log or a shell
// reads differently (SEC-24).
const DNS_NAME = /^[A-Za-z0-9_*-]+(\.[A-Za-z0-9_-]+)*\.?$/;
const MAX_NAMES = 1_000;

export function buildGeneralName({ type, value }: SubjectName): Encodable {
  return type === 'ip'
    ? implicit(7, parseAddress(value))
    : implicit(2, Buffer.from(checkedDnsName(value, 'a dns name')));
}

export const buildUri = (uri: string): Encodable => implicit(6, Buffer.from(checkedUri(uri, 'a URL')));

/** DNS names in lower case, addresses in canonical text, both checked. */
export function readGeneralName(node: DerNode, what: string): GeneralName {
  switch (node.tag) {
    case DNS:
      return { type: 'dns', value: checkedDnsName(contentsOf(node, DNS, what).toString('latin1'), what) };
    case IP:
      return { type: 'ip', value: readAddress(contentsOf(node, IP, what), what) };
    case URI:
      return { type: 'uri', value: checkedUri(contentsOf(node, URI, what).toString('latin1'), what) };
    default:
      return { type: 'other', value: generalNameKind(node, what) };
  }
}

/** GeneralNames: at least one, at most a thousand. */
export function readGeneralNames(node: DerNode, tag: number, what: string): readonly GeneralName[] {
  const children = childrenOf(node, tag, what);
  if (children.length === 0) throw new X509Error('bad_extension', `${what} holds no name.`);
  if (children.length > MAX_NAMES) {
    throw new X509Error('too_large', `${what} holds ${children.length} names; at most ${MAX_NAMES} are read.`);
  }
  return children.map((child) => readGeneralName(child, what));
}

export const readSubjectAltNames = (node: DerNode, what: string): readonly GeneralName[] =>
  readGeneralNames(node, tags.sequence, what);

/** The standard's word for a kind of name that is not read further. */
export function generalNameKind(node: DerNode, what: string): string {
  const kind = kinds[node.tag];
  if (kind === undefined) throw new X509Error('bad_extension', `${what} holds a name of an unknown kind.`);
  return kind;
}

function checkedDnsName(name: string, what: string): string {
  if (name.length > 254 || !DNS_NAME.test(name)) {
    throw new X509Error('bad_name', `${what} holds a dns name that is not 1 to 253 letters, digits, hyphens and dots.`);
  }
  return name.toLowerCase();
}

function checkedUri(uri: string, what: string): string {
  if (uri.length > 2_048 || !/^[a-zA-Z][a-zA-Z0-9+.-]*:[\x21-\x7e]+$/.test(uri)) {
    throw new X509Error(
      'bad_name',
      `${what} holds a URI that is not 1 to 2048 visible ASCII characters after a scheme.`,
    );
  }
  return uri;
}

function readAddress(octets: Buffer, what: string): string {
  if (octets.length !== 4 && octets.length !== 16) {
    throw new X509Error('bad_name', `${what} holds an IP address of ${octets.length} octets instead of 4 or 16.`);
  }
  return formatAddress(octets);
}
