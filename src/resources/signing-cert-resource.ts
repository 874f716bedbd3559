// SigningCert: a CA certificate as a custom resource.
import { described, type Static } from '../schema/define.ts';
import { camelCaseTwins, twinOf } from './camel-case.ts';
import { type CreateInput, createOnly, writable } from './field.ts';
import { signingCertFields } from './fields.ts';
import { column, defineKind, type Rule, wideColumn } from './kind.ts';
import type { Resource } from './resource.ts';
import { allowedNamespaces, allowedNamespacesRules, deletionPolicy, fromSecret, reference } from './spec-parts.ts';
import { shown, shownLong, shownTime, statusShape } from './status-parts.ts';

const spec = {
  ...camelCaseTwins(
    signingCertFields,
    'cert_type',
    'key_availability',
    'private_key_type',
    'subject',
    'valid_days',
    'name_constraints',
  ),
  pathLength: createOnly(
    'optional',
    described(
      twinOf(signingCertFields.path_length),
      'CA certs that may stand below. When absent there is no limit for a root, and 0 for an intermediate.',
    ),
  ),
  import: createOnly(
    'optional',
    fromSecret('A CA cert made elsewhere.', 'Secret with tls.crt, and tls.key where the key is online.'),
  ),
  publicCert: writable(
    'optional',
    described(
      twinOf(signingCertFields.public_cert),
      'Certificate in PEM: of an offline CA, or the answer to status.csr. Never changes once set.',
    ),
  ),
  signingCertRef: createOnly('optional', reference('SigningCert that signs this one; none for a root.')),
  name: writable('optional', described(twinOf(signingCertFields.name), 'Display name; metadata.name when absent.')),
  crl: writable('optional', fromSecret('CRL of an offline CA.', 'Secret with crl.pem or ca.crl, in PEM.')),
  allowedNamespaces,
  deletionPolicy: deletionPolicy('Retain', 'Whether CA cert and key go with this object, or stay and can be adopted.'),
};

const status = statusShape({
  id: shown('Id in /v1.'),
  keyType: shown('Type of the key.'),
  signingCertId: shown('Id of the CA cert that signed this one.'),
  subject: shownLong('Subject of the certificate.'),
  serial: shown('Serial number in hex.'),
  fingerprint: shown('SHA-256 of the certificate in hex.'),
  notBefore: shownTime('Begin of the certificate.'),
  notAfter: shownTime('End of the certificate.'),
  publicCert: shownLong('Certificate in PEM.'),
  csr: shownLong('CSR in PEM, while it waits for its certificate.'),
  secretName: shown('Secret of the key, in the namespace of the operator.'),
  revokedAt: shownTime('When it was revoked.'),
});

export type SigningCertSpec = CreateInput<typeof spec>;
export type SigningCertStatus = Static<typeof status>;
export type SigningCertResource = Resource<'SigningCert', SigningCertSpec, SigningCertStatus>;

/** The ways to make a CA cert, as /v1 has them; `import` and `publicCert` stand for its public_cert and private_key. */
const isImported = (self: SigningCertSpec): boolean => self.keyAvailability === 'offline' || self.import !== undefined;
const IMPORTED = "(self.keyAvailability == 'offline' || has(self.__import__))";
/** A key and a CSR are made here, for a parent elsewhere. */
const isRequested = (self: SigningCertSpec): boolean =>
  !isImported(self) && self.certType === 'intermediate' && self.signingCertRef === undefined;
const REQUESTED = `(!${IMPORTED} && self.certType == 'intermediate' && !has(self.signingCertRef))`;

type Optional = 'validDays' | 'pathLength' | 'nameConstraints';

const onlyWhereGenerated = (field: Optional): Rule<SigningCertSpec> => ({
  asked: 'always',
  cel: `!has(self.${field}) || !(${IMPORTED} || ${REQUESTED})`,
  message: 'this field is for a CA cert that is generated here: online, without import, a root or below signingCertRef',
  field,
  reason: 'FieldValueForbidden',
  holds: (self) => self[field] === undefined || !(isImported(self) || isRequested(self)),
});

const variantRules: readonly Rule<SigningCertSpec>[] = [
  {
    asked: 'always',
    cel: `has(self.privateKeyType) || ${IMPORTED}`,
    message: 'this field is required where the key is made here; without it, name an import or keyAvailability offline',
    field: 'privateKeyType',
    reason: 'FieldValueRequired',
    holds: (self) => self.privateKeyType !== undefined || isImported(self),
  },
  {
    asked: 'always',
    cel: `!has(self.privateKeyType) || !${IMPORTED}`,
    message: 'an imported or offline CA cert has its key already',
    field: 'privateKeyType',
    reason: 'FieldValueForbidden',
    holds: (self) => self.privateKeyType === undefined || !isImported(self),
  },
  {
    asked: 'always',
    cel: "self.keyAvailability == 'online' || has(self.__import__) != has(self.publicCert)",
    message: 'an offline CA cert needs its certificate, either by import or as publicCert',
    field: 'publicCert',
    reason: 'FieldValueInvalid',
    holds: (self) =>
      self.keyAvailability === 'online' || (self.import === undefined) !== (self.publicCert === undefined),
  },
  {
    asked: 'always',
    cel: `self.keyAvailability == 'offline' || !has(self.publicCert) || ${REQUESTED}`,
    message:
      'with an online key this field answers status.csr, of an intermediate without signingCertRef; a certificate and its key come by import',
    field: 'publicCert',
    reason: 'FieldValueForbidden',
    holds: (self) => self.keyAvailability === 'offline' || self.publicCert === undefined || isRequested(self),
  },
  {
    asked: 'on update',
    cel: '!has(oldSelf.publicCert) || (has(self.publicCert) && self.publicCert == oldSelf.publicCert)',
    message: 'this field never changes once it is set; make another object instead',
    field: 'publicCert',
    reason: 'FieldValueForbidden',
    holds: (self, before) => before.publicCert === undefined || self.publicCert === before.publicCert,
  },
  {
    asked: 'always',
    cel: "!has(self.signingCertRef) || self.certType == 'intermediate'",
    message: 'a root has no parent',
    field: 'signingCertRef',
    reason: 'FieldValueForbidden',
    holds: (self) => self.signingCertRef === undefined || self.certType === 'intermediate',
  },
  {
    asked: 'always',
    cel: `!has(self.subject) || !${IMPORTED}`,
    message: 'an imported or offline CA cert has its subject already',
    field: 'subject',
    reason: 'FieldValueForbidden',
    holds: (self) => self.subject === undefined || !isImported(self),
  },
  onlyWhereGenerated('validDays'),
  onlyWhereGenerated('pathLength'),
  onlyWhereGenerated('nameConstraints'),
  {
    asked: 'always',
    cel: "!has(self.crl) || self.keyAvailability == 'offline'",
    message: 'the CRL of an online CA cert is made here',
    field: 'crl',
    reason: 'FieldValueForbidden',
    holds: (self) => self.crl === undefined || self.keyAvailability === 'offline',
  },
];

export const signingCertKind = defineKind({
  kind: 'SigningCert',
  plural: 'signingcerts',
  singular: 'signingcert',
  shortName: 'scert',
  description: 'A CA certificate, with its key where that is online.',
  spec,
  status,
  rules: [...variantRules, ...allowedNamespacesRules],
  columns: [
    column('Type', '.spec.certType'),
    wideColumn('Parent', '.spec.signingCertRef.name'),
    column('Not After', '.status.notAfter'),
    wideColumn('Serial', '.status.serial'),
  ],
  selectable: ['signingCertRef.name'],
});
