// The last look at a leaf certificate before it is signed: its bytes, read back, against what was decided (SEC-40).
import { type KeyType, keyAlgorithms, type LeafKeyType } from './algorithms.ts';
import { parseTbsCertificate, type TbsCertificate } from './certificate.ts';
import type { ExtendedKeyUsage, KeyUsage } from './extensions.ts';
import type { SubjectName } from './general-name.ts';
import { oids } from './oids.ts';
import { keyIdentifierOf } from './spki.ts';
import { X509Error } from './x509-error.ts';

/** Everything that a leaf certificate says. */
export type LeafFields = {
  readonly serial: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** One of the dns names; undefined for an empty subject. */
  readonly commonName: string | undefined;
  /** DER SubjectPublicKeyInfo. */
  readonly spki: Buffer;
  readonly keyType: LeafKeyType;
  /** In the order of the certificate, each once. */
  readonly names: readonly SubjectName[];
  readonly extendedKeyUsage: readonly ExtendedKeyUsage[];
  readonly mustStaple: boolean;
  readonly issuer: {
    /** DER of its name. */
    readonly subject: Buffer;
    readonly keyType: KeyType;
    readonly keyIdentifier: Buffer;
    readonly notBefore: Date;
    readonly notAfter: Date;
  };
  readonly urls: { readonly crl: string; readonly ocsp: string; readonly caIssuers: string };
};

type Rule = { readonly rule: string; readonly holds: (tbs: TbsCertificate, fields: LeafFields) => boolean };

const SERIAL_OCTETS = 17;
const MOST_COMMON_NAME = 64;

const rules: readonly Rule[] = [
  { rule: 'version', holds: ({ version }) => version === 3 },
  { rule: 'serial', holds: ({ serial }, fields) => serial.length === SERIAL_OCTETS && serial.equals(fields.serial) },
  {
    rule: 'signature_algorithm',
    holds: (tbs, { issuer }) => tbs.signatureAlgorithm.equals(keyAlgorithms[issuer.keyType].signature.algorithm),
  },
  { rule: 'issuer', holds: ({ issuer }, fields) => issuer.der.equals(fields.issuer.subject) },
  { rule: 'dates', holds: (tbs, fields) => sameTime(tbs, fields) && tbs.notBefore < tbs.notAfter },
  {
    rule: 'dates_within_issuer',
    holds: ({ notBefore, notAfter }, { issuer }) => notBefore >= issuer.notBefore && notAfter <= issuer.notAfter,
  },
  { rule: 'subject', holds: subjectIsCommonName },
  { rule: 'public_key', holds: ({ spki }, fields) => spki.equals(fields.spki) },
  { rule: 'extensions', holds: extensionsAreThose },
  {
    rule: 'basic_constraints',
    holds: ({ extensions: { basicConstraints } }) => basicConstraints?.ca === false,
  },
  {
    rule: 'key_usage',
    holds: ({ extensions }, fields) => sameTexts(extensions.keyUsage, leafKeyUsage(fields)),
  },
  {
    rule: 'extended_key_usage',
    holds: ({ extensions }, fields) => sameTexts(extensions.extendedKeyUsage, fields.extendedKeyUsage),
  },
  {
    rule: 'names',
    holds: ({ extensions }, { names }) =>
      names.length > 0 && sameTexts(extensions.subjectAltNames?.map(nameKey), [...new Set(names.map(nameKey))]),
  },
  {
    rule: 'authority_key_identifier',
    holds: ({ extensions }, { issuer }) => extensions.authorityKeyIdentifier?.equals(issuer.keyIdentifier) === true,
  },
  {
    rule: 'subject_key_identifier',
    holds: ({ extensions }, { spki }) => extensions.subjectKeyIdentifier?.equals(keyIdentifierOf(spki)) === true,
  },
  { rule: 'crl_url', holds: ({ extensions }, { urls }) => sameTexts(extensions.crlUrls, [urls.crl]) },
  { rule: 'ocsp_url', holds: ({ extensions }, { urls }) => sameTexts(extensions.ocspUrls, [urls.ocsp]) },
  { rule: 'issuer_url', holds: ({ extensions }, { urls }) => sameTexts(extensions.caIssuersUrls, [urls.caIssuers]) },
  { rule: 'plain_http', holds: (_, { urls }) => Object.values(urls).every((url) => url.startsWith('http://')) },
  {
    rule: 'must_staple',
    holds: ({ extensions }, fields) => (extensions.mustStaple ?? false) === fields.mustStaple,
  },
];

/** What the bytes say where all is well, else the rule that they break: `der` where they are no certificate at all. */
export type LintedLeaf = { readonly tbs: TbsCertificate } | { readonly broken: string };

export function lintLeaf(bytes: Buffer, fields: LeafFields): LintedLeaf {
  try {
    const tbs = parseTbsCertificate(bytes);
    const broken = rules.find(({ holds }) => !holds(tbs, fields));
    return broken === undefined ? { tbs } : { broken: broken.rule };
  } catch (error) {
    if (error instanceof X509Error) return { broken: 'der' };
    throw error;
  }
}

/**
 * Whether stored bytes are those of an end entity and no more: not of a CA, nor of one who answers OCSP or signs CRLs in its
 * place. Whoever can write to the database could put others there.
 */
export const isEndEntity = ({ extensions }: TbsCertificate): boolean =>
  extensions.basicConstraints?.ca === false &&
  areAmong(extensions.keyUsage, ['digitalSignature', 'keyEncipherment']) &&
  areAmong(extensions.extendedKeyUsage, ['serverAuth', 'clientAuth']);

const areAmong = (found: readonly string[] | undefined, known: readonly string[]): boolean =>
  found !== undefined && found.length > 0 && found.every((text) => known.includes(text));

/** Only RSA keys encipher keys, and only those of servers have use for it (RFC 5280 section 4.2.1.12). */
export const leafKeyUsage = ({
  keyType,
  extendedKeyUsage,
}: Pick<LeafFields, 'keyType' | 'extendedKeyUsage'>): readonly KeyUsage[] =>
  keyAlgorithms[keyType].family === 'rsa' && extendedKeyUsage.includes('serverAuth')
    ? ['digitalSignature', 'keyEncipherment']
    : ['digitalSignature'];

const nameKey = ({ type, value }: { readonly type: string; readonly value: string }): string => `${type}:${value}`;

const sameTexts = (found: readonly string[] | undefined, wanted: readonly string[]): boolean =>
  found?.length === wanted.length && wanted.every((text, index) => text === found[index]);

const sameTime = (tbs: TbsCertificate, { notBefore, notAfter }: LeafFields): boolean =>
  tbs.notBefore.getTime() === notBefore.getTime() && tbs.notAfter.getTime() === notAfter.getTime();

function subjectIsCommonName({ subject }: TbsCertificate, { commonName, names }: LeafFields): boolean {
  const [only, ...others] = subject.attributes;
  if (only === undefined) return commonName === undefined;
  const isName = names.some(({ type, value }) => type === 'dns' && value === only.value);
  return others.length === 0 && only.field === 'CN' && only.value === commonName && isName && fits(only.value);
}

const fits = (commonName: string): boolean => commonName.length <= MOST_COMMON_NAME;

/** No other extension, none missing, each as critical as RFC 5280 wants it. */
function extensionsAreThose({ extensions, subject }: TbsCertificate, { mustStaple }: LeafFields): boolean {
  const wanted = [
    [oids.basicConstraints, true],
    [oids.keyUsage, true],
    [oids.extKeyUsage, false],
    [oids.subjectAltName, subject.attributes.length === 0],
    [oids.authorityKeyIdentifier, false],
    [oids.subjectKeyIdentifier, false],
    [oids.crlDistributionPoints, false],
    [oids.authorityInfoAccess, false],
    ...(mustStaple ? [[oids.tlsFeature, false] as const] : []),
  ] as const;
  const text = (oid: string, critical: boolean): string => `${oid} ${critical}`;
  return sameTexts(
    extensions.all.map(({ oid, critical }) => text(oid, critical)),
    wanted.map(([oid, critical]) => text(oid, critical)),
  );
}
