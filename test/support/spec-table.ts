// Specs and what is to become of them, for every kind: asked of our own check, and of an API server.
import type { KindName } from '../../src/resources/resource.ts';

type Spec = Readonly<Record<string, unknown>>;
/** `refused` names the field at fault, and is undefined where the spec is fine. */
export type SpecCase = {
  readonly kind: KindName;
  readonly about: string;
  readonly spec: unknown;
  readonly refused?: string;
};
export type UpdateCase = SpecCase & { readonly before: Spec };

const PUBLIC_KEY = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEe9d4vSiE9LY3WNofkdy0c92l5+sm
45LQBdGYAsHPNtKhyKNqfxb7vsoo5+ZKCo5XALs9t9y8J0CKW3NNIq9cew==
-----END PUBLIC KEY-----
`;
const CERT = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const ref = { name: 'corp' };
const fromSecret = { secretRef: { name: 'old-root' } };

const root = { certType: 'root', keyAvailability: 'online', privateKeyType: 'ec_384' };
const intermediate = { ...root, certType: 'intermediate', signingCertRef: ref };
const { signingCertRef: _, ...request } = intermediate;
const offline = { certType: 'root', keyAvailability: 'offline', publicCert: CERT };
const imported = { certType: 'root', keyAvailability: 'online', import: fromSecret };
const directory = { signingCertRef: ref };
const binding = { directoryRef: ref };
const acmeKey = { directoryRef: ref, publicKey: PUBLIC_KEY };
const selecting = (selector: unknown) => ({ allowedNamespaces: { from: 'Selector', selector } });
const expression = (operator: string, values?: readonly string[]) => ({
  matchExpressions: [{ key: 'team', operator, ...(values && { values }) }],
});

const without = (spec: Spec, name: string): Spec =>
  Object.fromEntries(Object.entries(spec).filter(([key]) => key !== name));

const fine =
  (kind: KindName) =>
  (about: string, spec: unknown): SpecCase => ({ kind, about, spec });
const refused =
  (kind: KindName) =>
  (refusedField: string, about: string, spec: unknown): SpecCase => ({ kind, about, spec, refused: refusedField });

const [certFine, certRefused] = [fine('SigningCert'), refused('SigningCert')];
const [dirFine, dirRefused] = [fine('Directory'), refused('Directory')];
const [eabFine, eabRefused] = [fine('ExternalBinding'), refused('ExternalBinding')];
const [keyFine, keyRefused] = [fine('AcmeKey'), refused('AcmeKey')];

/** Every field, for each of the kinds. */
export const fullSpecs: readonly SpecCase[] = [
  certFine('generated with every field', {
    ...intermediate,
    signingCertRef: { name: 'corp-root', namespace: 'ca' },
    name: 'Corp Issuing',
    subject: { CN: 'Corp Issuing', O: 'Corp', OU: 'PKI', L: 'Bern', ST: 'BE', C: 'CH' },
    validDays: 3650,
    pathLength: 0,
    nameConstraints: {
      permittedDns: ['corp.example', '.corp.example'],
      excludedDns: ['secret.corp.example'],
      permittedIp: ['10.0.0.0/8', 'fd00::/8'],
      excludedIp: ['10.1.0.0/16'],
    },
    ...selecting({ matchLabels: { team: 'shop', empty: '' }, ...expression('In', ['a', 'b']) }),
    deletionPolicy: 'Delete',
  }),
  certFine('imported offline with its CRL', { ...imported, keyAvailability: 'offline', crl: fromSecret }),
  certFine('requested and answered', { ...request, publicCert: CERT }),
  dirFine('with every field', {
    ...directory,
    slug: 'web',
    name: 'Web',
    signingCertRef: { name: 'corp', namespace: 'ca' },
    allowedDnsIdentifiers: ['**.corp.example', '*', '**', 'a.example.'],
    allowedIpIdentifiers: ['10.0.0.0/8', '::1', '::ffff:10.1.2.3/128'],
    remoteIpWhitelist: ['192.0.2.7'],
    caaTag: 'ca.corp.example',
    certMinDays: 0,
    certMaxDays: 3650,
    onMissingCaa: 'fail',
    registrationMode: 'open',
    profiles: ['mtls', 'server', 'client'],
    allowedKeyTypes: ['ed25519', 'ec_256'],
    termsOfService: 'https://corp.example/terms?v=1#top',
    website: 'http://corp.example',
    rolloverDays: 0,
    allowedNamespaces: { from: 'All' },
    deletionPolicy: 'Retain',
  }),
  eabFine('with every field', {
    directoryRef: { name: 'web', namespace: 'acmery-system' },
    keyId: 'shop.shop_1',
    name: 'Shop',
    orderValidations: 'auto_approved',
    secretName: 'shop-eab',
    onDelete: 'RevokeAccount',
    deletionPolicy: 'Retain',
  }),
  keyFine('with every field but generate', {
    ...acmeKey,
    name: 'Edge',
    contacts: ['mailto:edge@corp.example', 'https://corp.example/edge', 'tel:+41'],
    orderValidations: 'auto_approve',
    deletionPolicy: 'Retain',
  }),
  keyFine('that is generated', { directoryRef: ref, generate: { keyType: 'rsa_2048', secretName: 'edge' } }),
];

export const specCases: readonly SpecCase[] = [
  ...fullSpecs,
  certFine('root', root),
  certFine('intermediate', intermediate),
  certFine('request', { ...request, subject: { CN: 'x' } }),
  certFine('offline', offline),
  certFine('online import', imported),
  certFine('imported below a parent', { ...imported, certType: 'intermediate', signingCertRef: ref }),
  certFine('null for what is absent', { ...root, name: null, pathLength: null, subject: { CN: 'x', OU: null } }),
  certFine('null for what has a default', { ...root, deletionPolicy: null, allowedNamespaces: { from: null } }),
  certFine('an expression without values', { ...root, ...selecting(expression('Exists')) }),
  certFine('an empty selector', { ...root, ...selecting({}) }),
  certFine('200 letters that are 400 bytes', { ...root, name: 'ü'.repeat(200) }),
  certFine('a name of astral letters', { ...root, name: '𝔘'.repeat(200) }),
  certRefused('spec.name', '201 letters', { ...root, name: 'ü'.repeat(201) }),
  certRefused('spec.name', 'a control character', { ...root, name: 'a\u0085b' }),
  certRefused('spec.name', 'an empty name', { ...root, name: '' }),
  certRefused('spec.certType', 'no type', without(root, 'certType')),
  certRefused('spec.certType', 'another type', { ...root, certType: 'leaf' }),
  certRefused('spec.keyAvailability', 'null where it is required', { ...root, keyAvailability: null }),
  certRefused('spec.privateKeyType', 'a root without key', without(root, 'privateKeyType')),
  certRefused('spec.privateKeyType', 'a key type for accounts only', { ...root, privateKeyType: 'ed25519' }),
  certRefused('spec.privateKeyType', 'a key type with an import', { ...imported, privateKeyType: 'ec_256' }),
  certRefused('spec.privateKeyType', 'a key type for an offline CA', { ...offline, privateKeyType: 'ec_256' }),
  certRefused('spec.publicCert', 'an offline CA without certificate', without(offline, 'publicCert')),
  certRefused('spec.publicCert', 'an offline CA with two', { ...offline, import: fromSecret }),
  certRefused('spec.publicCert', 'a certificate of a root that is generated', { ...root, publicCert: CERT }),
  certRefused('spec.publicCert', 'a certificate beside an online import', { ...imported, publicCert: CERT }),
  certRefused('spec.publicCert', 'a certificate of an intermediate that is generated', {
    ...intermediate,
    publicCert: CERT,
  }),
  certRefused('spec.publicCert', 'more than 32 KiB', { ...offline, publicCert: 'x'.repeat(32_769) }),
  certRefused('spec.signingCertRef', 'a root with a parent', { ...root, signingCertRef: ref }),
  certRefused('spec.signingCertRef', 'an imported root with a parent', { ...imported, signingCertRef: ref }),
  certRefused('spec.signingCertRef.name', 'a reference in capitals', {
    ...intermediate,
    signingCertRef: { name: 'Corp' },
  }),
  certRefused('spec.signingCertRef.name', 'a reference without name', { ...intermediate, signingCertRef: {} }),
  certRefused('spec.signingCertRef.namespace', 'a namespace with a dot', {
    ...intermediate,
    signingCertRef: { name: 'a.b', namespace: 'a.b' },
  }),
  certRefused('spec.signingCertRef.kind', 'a reference with a kind', {
    ...intermediate,
    signingCertRef: { name: 'a', kind: 'x' },
  }),
  certRefused('spec.subject', 'a subject of an import', { ...imported, subject: { CN: 'x' } }),
  certRefused('spec.subject.C', 'a country in small letters', { ...root, subject: { C: 'ch' } }),
  certRefused('spec.subject.CN', '65 letters', { ...root, subject: { CN: 'x'.repeat(65) } }),
  certRefused('spec.subject.cn', 'a part of a subject that is unknown', { ...root, subject: { cn: 'x' } }),
  certRefused('spec.validDays', 'days of a request', { ...request, validDays: 10 }),
  certRefused('spec.validDays', 'no days', { ...root, validDays: 0 }),
  certRefused('spec.validDays', 'half a day', { ...root, validDays: 1.5 }),
  certRefused('spec.pathLength', 'a path length of an offline CA', { ...offline, pathLength: 0 }),
  certRefused('spec.pathLength', 'a path length of eleven', { ...root, pathLength: 11 }),
  certRefused('spec.nameConstraints', 'name constraints of a request', { ...request, nameConstraints: {} }),
  certRefused('spec.nameConstraints.permittedDns[0]', 'a wildcard constraint', {
    ...root,
    nameConstraints: { permittedDns: ['*.corp.example'] },
  }),
  certRefused('spec.nameConstraints.permitted_dns', 'the name of /v1', {
    ...root,
    nameConstraints: { permitted_dns: [] },
  }),
  certRefused('spec.crl', 'a CRL of an online CA', { ...root, crl: fromSecret }),
  certRefused('spec.import.secretRef', 'an import of nothing', { ...imported, import: {} }),
  certRefused('spec.deletionPolicy', 'another policy', { ...root, deletionPolicy: 'Orphan' }),
  certRefused('spec.allowedNamespaces.selector', 'no selector', { ...root, allowedNamespaces: { from: 'Selector' } }),
  certRefused('spec.allowedNamespaces.selector', 'a selector without from', {
    ...root,
    allowedNamespaces: { selector: {} },
  }),
  certRefused('spec.allowedNamespaces.selector.matchExpressions', 'In nothing', {
    ...root,
    ...selecting(expression('In')),
  }),
  certRefused('spec.allowedNamespaces.selector.matchExpressions', 'Exists with values', {
    ...root,
    ...selecting(expression('Exists', ['a'])),
  }),
  certRefused('spec.allowedNamespaces.selector.matchExpressions[0].operator', 'another operator', {
    ...root,
    ...selecting(expression('Gt', ['1'])),
  }),
  certRefused('spec.allowedNamespaces.selector.matchLabels.a', 'a label that is a number', {
    ...root,
    ...selecting({ matchLabels: { a: 1 } }),
  }),
  certRefused('spec', 'a list for a spec', []),

  dirFine('with what is required', directory),
  dirFine('one day', { ...directory, certMinDays: 1, certMaxDays: 1 }),
  dirFine('empty lists', { ...directory, allowedDnsIdentifiers: [], allowedIpIdentifiers: [], remoteIpWhitelist: [] }),
  dirFine('500 ranges of the longest form', {
    ...directory,
    allowedIpIdentifiers: Array.from(
      { length: 500 },
      (_, i) => `1111:2222:3333:4444:5555:6666:${100 + (i % 100)}.100.100.100/128`,
    ),
    allowedDnsIdentifiers: Array.from({ length: 500 }, (_, i) => `**.${'a'.repeat(60)}.${'b'.repeat(60)}.${i}.example`),
  }),
  dirFine('the same name twice in a list', { ...directory, allowedDnsIdentifiers: ['a', 'a'] }),
  dirFine('URL with port and query', { ...directory, website: 'https://user@corp.example:8443/a%20b?c=d' }),
  dirRefused('spec.signingCertRef', 'nothing', {}),
  dirRefused('spec', 'no spec', undefined),
  dirRefused('spec.certMinDays', 'days in the wrong order', { ...directory, certMinDays: 9, certMaxDays: 8 }),
  dirRefused('spec.certMinDays', 'fewest days above the usual most', { ...directory, certMinDays: 98 }),
  dirRefused('spec.certMinDays', 'most days below the usual fewest', { ...directory, certMaxDays: 1 }),
  dirRefused('spec.certMaxDays', 'too many days', { ...directory, certMaxDays: 3651 }),
  dirRefused('spec.certMaxDays', 'days as text', { ...directory, certMaxDays: '90' }),
  dirRefused('spec.profiles', 'no profile', { ...directory, profiles: [] }),
  dirRefused('spec.profiles', 'a profile twice', { ...directory, profiles: ['server', 'server'] }),
  dirRefused('spec.profiles[0]', 'another profile', { ...directory, profiles: ['email'] }),
  dirRefused('spec.profiles[1]', 'null in a list', { ...directory, profiles: ['server', null] }),
  dirRefused('spec.allowedKeyTypes', 'a key type twice', {
    ...directory,
    allowedKeyTypes: ['ec_256', 'ec_384', 'ec_256'],
  }),
  dirRefused('spec.remoteIpWhitelist', 'an address twice', { ...directory, remoteIpWhitelist: ['::1', '::1'] }),
  dirRefused('spec.allowedDnsIdentifiers', 'text for a list', { ...directory, allowedDnsIdentifiers: '**' }),
  dirRefused('spec.allowedDnsIdentifiers', '501 patterns', {
    ...directory,
    allowedDnsIdentifiers: Array(501).fill('a'),
  }),
  ...['**x', 'a.*', '*.*.a', '', 'a..b', '-a', 'bücher.example', `${'a'.repeat(64)}.b`].map((pattern) =>
    dirRefused('spec.allowedDnsIdentifiers[0]', `pattern "${pattern}"`, {
      ...directory,
      allowedDnsIdentifiers: [pattern],
    }),
  ),
  ...[
    '10.0.0.0/33',
    '010.0.0.1',
    '1.2.3',
    '::1/129',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7:8:9',
    'fe80::1%eth0',
    'a',
    '/8',
    '::/08',
  ].map((range) =>
    dirRefused('spec.allowedIpIdentifiers[0]', `range "${range}"`, { ...directory, allowedIpIdentifiers: [range] }),
  ),
  ...['Web', 'web-', 'a.b', '', 'a'.repeat(64)].map((slug) =>
    dirRefused('spec.slug', `slug "${slug}"`, { ...directory, slug }),
  ),
  ...['ftp://corp.example', 'https://', 'corp.example', 'https://corp example', 'http://:80'].map((website) =>
    dirRefused('spec.website', `URL "${website}"`, { ...directory, website }),
  ),
  dirRefused('spec.caaTag', 'a tag with a space', { ...directory, caaTag: 'a b' }),
  dirRefused('spec.reuseSlug', 'what is an annotation', { ...directory, reuseSlug: true }),
  dirRefused('spec.cert_max_days', 'the name of /v1', { ...directory, cert_max_days: 3 }),

  eabFine('with what is required', binding),
  eabRefused('spec.directoryRef', 'nothing', {}),
  eabRefused('spec.keyId', 'a key id like our own', { ...binding, keyId: 'eab_x' }),
  eabRefused('spec.keyId', 'a key id with a slash', { ...binding, keyId: 'a/b' }),
  eabRefused('spec.orderValidations', 'another way', { ...binding, orderValidations: 'none' }),
  eabRefused('spec.secretName', 'a Secret in capitals', { ...binding, secretName: 'Shop' }),

  keyFine('with what is required', acmeKey),
  keyRefused('spec.publicKey', 'no key', { directoryRef: ref }),
  keyRefused('spec.publicKey', 'two keys', { ...acmeKey, generate: { keyType: 'ec_256' } }),
  keyRefused('spec.generate.keyType', 'no type', { directoryRef: ref, generate: {} }),
  keyRefused('spec.contacts', 'a contact twice', { ...acmeKey, contacts: ['mailto:a@b.c', 'mailto:a@b.c'] }),
  keyRefused('spec.contacts', 'eleven contacts', {
    ...acmeKey,
    contacts: Array.from({ length: 11 }, (_x, i) => `mailto:${i}@b.c`),
  }),
  keyRefused('spec.contacts[0]', 'a contact that is no URI', { ...acmeKey, contacts: ['edge@corp.example'] }),
];

const changed = (kind: KindName, about: string, before: Spec, change: Spec, refusedField?: string): UpdateCase => ({
  kind,
  about,
  before,
  spec: { ...before, ...change },
  ...(refusedField && { refused: refusedField }),
});
const removed = (kind: KindName, field: string, before: Spec): UpdateCase => ({
  kind,
  about: `${field} is taken away`,
  before,
  spec: without(before, field),
  refused: `spec.${field}`,
});

export const updateCases: readonly UpdateCase[] = [
  changed('SigningCert', 'nothing', root, {}),
  changed('SigningCert', 'what may change', root, {
    name: 'New',
    deletionPolicy: 'Delete',
    allowedNamespaces: { from: 'All' },
  }),
  changed('SigningCert', 'the answer to a request', request, { publicCert: CERT }),
  changed('SigningCert', 'another CRL', { ...offline, crl: fromSecret }, { crl: { secretRef: { name: 'new' } } }),
  changed(
    'SigningCert',
    'a subject in another order',
    { ...root, subject: { CN: 'a', O: 'b' } },
    { subject: { O: 'b', CN: 'a' } },
  ),
  changed('SigningCert', 'another key type', root, { privateKeyType: 'ec_256' }, 'spec.privateKeyType'),
  changed('SigningCert', 'another availability', imported, { keyAvailability: 'offline' }, 'spec.keyAvailability'),
  changed('SigningCert', 'another type', imported, { certType: 'intermediate' }, 'spec.certType'),
  changed('SigningCert', 'a subject that comes', root, { subject: { CN: 'x' } }, 'spec.subject'),
  changed(
    'SigningCert',
    'another part of the subject',
    { ...root, subject: { CN: 'a' } },
    { subject: { CN: 'b' } },
    'spec.subject',
  ),
  removed('SigningCert', 'subject', { ...root, subject: { CN: 'x' } }),
  changed('SigningCert', 'days that come', root, { validDays: 5 }, 'spec.validDays'),
  removed('SigningCert', 'validDays', { ...root, validDays: 5 }),
  removed('SigningCert', 'pathLength', { ...root, pathLength: 5 }),
  changed('SigningCert', 'another path length', { ...root, pathLength: 5 }, { pathLength: 4 }, 'spec.pathLength'),
  changed('SigningCert', 'constraints that come', root, { nameConstraints: {} }, 'spec.nameConstraints'),
  changed(
    'SigningCert',
    'constraints in another order',
    { ...root, nameConstraints: { permittedDns: ['a', 'b'] } },
    { nameConstraints: { permittedDns: ['b', 'a'] } },
    'spec.nameConstraints',
  ),
  removed('SigningCert', 'signingCertRef', intermediate),
  changed('SigningCert', 'another parent', intermediate, { signingCertRef: { name: 'x' } }, 'spec.signingCertRef'),
  changed(
    'SigningCert',
    'a parent whose namespace is named',
    intermediate,
    { signingCertRef: { ...ref, namespace: 'a' } },
    'spec.signingCertRef',
  ),
  changed('SigningCert', 'a parent that comes', request, { signingCertRef: ref }, 'spec.signingCertRef'),
  changed('SigningCert', 'another import', imported, { import: { secretRef: { name: 'x' } } }, 'spec.import'),
  changed('SigningCert', 'another certificate', offline, { publicCert: `${CERT}\n` }, 'spec.publicCert'),
  removed('SigningCert', 'publicCert', { ...request, publicCert: CERT }),

  changed('Directory', 'a rollover', directory, { signingCertRef: { name: 'next' } }),
  changed('Directory', 'another policy', directory, {
    certMaxDays: 30,
    profiles: ['client'],
    remoteIpWhitelist: ['::1'],
  }),
  changed('Directory', 'another slug', { ...directory, slug: 'a' }, { slug: 'b' }, 'spec.slug'),
  changed('Directory', 'a slug that comes', directory, { slug: 'a' }, 'spec.slug'),
  removed('Directory', 'slug', { ...directory, slug: 'a' }),

  changed('ExternalBinding', 'another Secret and name', binding, {
    secretName: 'x',
    name: 'y',
    onDelete: 'RevokeAccount',
  }),
  changed('ExternalBinding', 'another directory', binding, { directoryRef: { name: 'x' } }, 'spec.directoryRef'),
  changed('ExternalBinding', 'a key id that comes', binding, { keyId: 'x' }, 'spec.keyId'),
  removed('ExternalBinding', 'keyId', { ...binding, keyId: 'x' }),

  changed('AcmeKey', 'contacts and validations', acmeKey, {
    contacts: ['mailto:a@b.c'],
    orderValidations: 'auto_approve',
  }),
  changed('AcmeKey', 'another directory', acmeKey, { directoryRef: { name: 'x' } }, 'spec.directoryRef'),
  changed('AcmeKey', 'another key', acmeKey, { publicKey: 'x' }, 'spec.publicKey'),
  changed(
    'AcmeKey',
    'another Secret of a generated key',
    { directoryRef: ref, generate: { keyType: 'ec_256' } },
    { generate: { keyType: 'ec_256', secretName: 'x' } },
    'spec.generate',
  ),
];
