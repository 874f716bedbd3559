// Certificate extensions as they are read: one row for each that means something here, the others kept as they are.
import {
  bytesOf,
  childrenOf,
  contentsOf,
  contextConstructed,
  contextPrimitive,
  type DerNode,
  elementsOf,
  parseDer,
  readBoolean,
  readInteger,
  readNamedBits,
  readOctets,
  readOid,
  readSmallInteger,
  tags,
} from './der.ts';
import { type Extension, extendedKeyUsages, type KeyUsage, keyUsages, STATUS_REQUEST } from './extensions.ts';
import { type GeneralName, readGeneralName, readGeneralNames, readSubjectAltNames } from './general-name.ts';
import { type ReadNameConstraints, readNameConstraints } from './name-constraints.ts';
import { oids } from './oids.ts';
import { malformed, X509Error } from './x509-error.ts';

type BasicConstraints = { readonly ca: boolean; readonly pathLength: number | undefined };

/** The extensions that mean something here; undefined where one is absent. */
type KnownExtensions = {
  readonly basicConstraints?: BasicConstraints;
  readonly keyUsage?: readonly KeyUsage[];
  /** Names of `extendedKeyUsages`, object identifiers where there is none. */
  readonly extendedKeyUsage?: readonly string[];
  readonly subjectKeyIdentifier?: Buffer;
  /** Absent too where the issuer is named by its name and serial instead. */
  readonly authorityKeyIdentifier?: Buffer;
  readonly subjectAltNames?: readonly GeneralName[];
  readonly nameConstraints?: ReadNameConstraints;
  readonly crlUrls?: readonly string[];
  readonly ocspUrls?: readonly string[];
  readonly caIssuersUrls?: readonly string[];
  readonly mustStaple?: boolean;
  readonly crlNumber?: bigint;
};

export type Extensions = KnownExtensions & {
  /** All of them as they were, unknown ones too. */
  readonly all: readonly Extension[];
  /** Object identifiers of critical extensions that nothing here understands. */
  readonly unknownCritical: readonly string[];
};

export const noExtensions: Extensions = { all: [], unknownCritical: [] };

const MAX_EXTENSIONS = 100;

/** Reads `SEQUENCE OF Extension`. Refuses an extension that stands there twice: readers differ in which one they take. */
export function parseExtensions(node: DerNode, what: string): Extensions {
  const all = childrenOf(node, tags.sequence, `the extension list of ${what}`).map((child) =>
    readExtension(child, what),
  );
  if (all.length > MAX_EXTENSIONS)
    throw new X509Error('too_large', `${what} has more than ${MAX_EXTENSIONS} extensions.`);
  const identifiers = all.map((extension) => extension.oid);
  const repeated = identifiers.find((identifier, index) => identifiers.indexOf(identifier) !== index);
  if (repeated !== undefined) throw new X509Error('bad_extension', `${what} has the extension ${repeated} twice.`);
  const known = all.map(({ oid: identifier, value }) => {
    const row = readers[identifier];
    if (row === undefined) return {};
    const where = `the ${row.name} extension of ${what}`;
    return row.read(parseDer(value, where), where);
  });
  const unknown = all.filter(({ oid: identifier, critical }) => critical && readers[identifier] === undefined);
  return { ...Object.assign({}, ...known), all, unknownCritical: unknown.map((extension) => extension.oid) };
}

type Reader = { readonly name: string; readonly read: (node: DerNode, what: string) => KnownExtensions };

const readers: Readonly<Record<string, Reader>> = {
  [oids.basicConstraints]: { name: 'basicConstraints', read: readBasicConstraints },
  [oids.keyUsage]: { name: 'keyUsage', read: readKeyUsage },
  [oids.extKeyUsage]: { name: 'extKeyUsage', read: readExtendedKeyUsage },
  [oids.subjectKeyIdentifier]: {
    name: 'subjectKeyIdentifier',
    read: (node, what) => ({ subjectKeyIdentifier: readOctets(node, what) }),
  },
  [oids.authorityKeyIdentifier]: { name: 'authorityKeyIdentifier', read: readAuthorityKeyIdentifier },
  [oids.subjectAltName]: {
    name: 'subjectAltName',
    read: (node, what) => ({ subjectAltNames: readSubjectAltNames(node, what) }),
  },
  [oids.nameConstraints]: {
    name: 'nameConstraints',
    read: (node) => ({ nameConstraints: readNameConstraints(node) }),
  },
  [oids.crlDistributionPoints]: { name: 'cRLDistributionPoints', read: readDistributionPoints },
  [oids.authorityInfoAccess]: { name: 'authorityInfoAccess', read: readAuthorityInfoAccess },
  [oids.tlsFeature]: { name: 'TLS feature', read: readTlsFeature },
  [oids.crlNumber]: { name: 'cRLNumber', read: readCrlNumber },
};

function readExtension(node: DerNode, what: string): Extension {
  const where = `an extension of ${what}`;
  const elements = elementsOf(node, tags.sequence, where);
  const identifier = readOid(elements.next('identifier'), where);
  // An explicit FALSE is not DER, but common and harmless.
  const critical = elements.nextIf(tags.boolean);
  const value = readOctets(elements.next('value'), where);
  elements.end();
  return { oid: identifier, critical: critical !== undefined && readBoolean(critical, where), value };
}

function readBasicConstraints(node: DerNode, what: string): KnownExtensions {
  const elements = elementsOf(node, tags.sequence, what);
  const caField = elements.nextIf(tags.boolean);
  const pathField = elements.nextIf(tags.integer);
  elements.end();
  const ca = caField !== undefined && readBoolean(caField, what);
  const pathLength =
    pathField === undefined ? undefined : readSmallInteger(pathField, `the path length in ${what}`, 1_000);
  if (!ca && pathLength !== undefined) throw malformed(what, 'has a path length without being for a CA');
  return { basicConstraints: { ca, pathLength } };
}

function readKeyUsage(node: DerNode, what: string): KnownExtensions {
  const usages = readNamedBits(node, what).map((bit) => keyUsages[bit]);
  return { keyUsage: usages.filter((usage) => usage !== undefined) };
}

function readExtendedKeyUsage(node: DerNode, what: string): KnownExtensions {
  const usages = childrenOf(node, tags.sequence, what).map((child) => readOid(child, what));
  if (usages.length === 0) throw malformed(what, 'names no usage');
  return { extendedKeyUsage: usages.map(usageName) };
}

function readAuthorityKeyIdentifier(node: DerNode, what: string): KnownExtensions {
  const elements = elementsOf(node, tags.sequence, what);
  const keyIdentifier = elements.nextIf(contextPrimitive(0));
  elements.nextIf(contextConstructed(1));
  elements.nextIf(contextPrimitive(2));
  elements.end();
  if (keyIdentifier === undefined) return {};
  return { authorityKeyIdentifier: contentsOf(keyIdentifier, contextPrimitive(0), what) };
}

function readDistributionPoints(node: DerNode, what: string): KnownExtensions {
  const points = childrenOf(node, tags.sequence, what);
  return { crlUrls: points.flatMap((point) => readDistributionPoint(point, what)) };
}

function readDistributionPoint(node: DerNode, what: string): readonly string[] {
  const elements = elementsOf(node, tags.sequence, what);
  const name = elements.nextIf(contextConstructed(0));
  elements.nextIf(contextPrimitive(1));
  elements.nextIf(contextConstructed(2));
  elements.end();
  if (name === undefined) return [];
  const choice = elementsOf(name, contextConstructed(0), what);
  const fullName = choice.nextIf(contextConstructed(0));
  if (fullName === undefined) return [];
  choice.end();
  return urisOf(readGeneralNames(fullName, contextConstructed(0), what));
}

function readAuthorityInfoAccess(node: DerNode, what: string): KnownExtensions {
  const entries = childrenOf(node, tags.sequence, what).map((description) => {
    const elements = elementsOf(description, tags.sequence, what);
    const method = readOid(elements.next('access method'), what);
    const location = readGeneralName(elements.next('access location'), what);
    elements.end();
    return { method, location };
  });
  const urls = (wanted: string) =>
    urisOf(entries.flatMap(({ method, location }) => (method === wanted ? [location] : [])));
  return { ocspUrls: urls(oids.accessOcsp), caIssuersUrls: urls(oids.accessCaIssuers) };
}

function readTlsFeature(node: DerNode, what: string): KnownExtensions {
  const features = childrenOf(node, tags.sequence, what).map((child) => readSmallInteger(child, what, 65_535));
  return { mustStaple: features.includes(STATUS_REQUEST) };
}

function readCrlNumber(node: DerNode, what: string): KnownExtensions {
  const number = readInteger(node, what);
  if (number < 0n || bytesOf(node).length > 2 + 20) throw malformed(what, 'is not a number of at most 20 octets');
  return { crlNumber: number };
}

const usageName = (identifier: string): string =>
  Object.entries(extendedKeyUsages).find(([, known]) => known === identifier)?.[0] ?? identifier;

const urisOf = (names: readonly GeneralName[]): readonly string[] =>
  names.flatMap(({ type, value }) => (type === 'uri' ? [value] : []));
