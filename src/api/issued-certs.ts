// /v1/issued_certs: what was issued, listed, looked at, downloaded and revoked.
import { formatId } from '../core/ids.ts';
import { type CertFileFormat, certFileFormats, getIssuedCertFile } from '../core/issued-cert-files.ts';
import { parseSerial, parseSubject } from '../core/issued-cert-filters.ts';
import { getIssuedCert, type IssuedCertView, listIssuedCerts, revokeIssuedCert } from '../core/issued-certs.ts';
import { inputOnly, replyShape } from '../resources/field.ts';
import { issuedCertFields, issuedCertStates } from '../resources/record-fields.ts';
import { revocationReasonFields } from '../resources/revocation-reason-fields.ts';
import { described as describe, Type } from '../schema/define.ts';
import { serialNumber } from '../schema/fragments.ts';
import { formatSeconds } from '../schema/timestamp.ts';
import { createBody, optional } from './body.ts';
import { listRoute } from './paging.ts';
import { enumParameter, idParameter, type Parameter, timeParameter, withDefault } from './parameters.ts';
import { ApiRefusal } from './problems.ts';
import { withReason } from './revocation-body.ts';
import { type ApiRoute, content, ok, route } from './route.ts';
import { named } from './shapes.ts';

const { public_cert: _public, cert_chain: _chain, ...listedFields } = issuedCertFields;
export const listedIssuedCert = named('IssuedCertListItem', replyShape(listedFields, 'list'));
const singleIssuedCert = named('IssuedCert', replyShape(issuedCertFields, 'single'));

/** Fields of the resource are ignored, as everywhere. */
const revocationFields = {
  ...issuedCertFields,
  reason: inputOnly('optional', revocationReasonFields.reason),
  revoke_reason: inputOnly('optional', revocationReasonFields.revoke_reason),
};

const tag = 'Issued certs';
const path = '/v1/issued_certs';
const params = { id: 'issued_cert' } as const;

type FileType = { readonly mediaType: string; readonly parameters?: string; readonly nameEnd: string };

const fileTypes: Readonly<Record<CertFileFormat, FileType>> = {
  pem: { mediaType: 'application/x-pem-file', nameEnd: '.pem' },
  der: { mediaType: 'application/pkix-cert', nameEnd: '.cer' },
  chain: { mediaType: 'application/pem-certificate-chain', nameEnd: '-chain.pem' },
  pkcs7: { mediaType: 'application/pkcs7-mime', parameters: '; smime-type=certs-only', nameEnd: '.p7b' },
};

export const issuedCertRoutes: readonly ApiRoute[] = [
  listRoute({
    path,
    operationId: 'listIssuedCerts',
    tag,
    summary: 'List issued certs',
    description:
      'Ordered by expiry, then id, where `state` is valid or expired or an `expires_*` filter is given; else by id.',
    permission: 'read',
    kind: 'issued_cert',
    filters: {
      acme_key_id: idParameter('acme_key', 'Only those that this account key ordered.'),
      directory_id: idParameter('directory', 'Only those ordered in this directory.'),
      signing_cert_id: idParameter('signing_cert', 'Only those that this CA cert signed.'),
      state: enumParameter(issuedCertStates, 'Only those in this state.'),
      subject: subjectParameter('Only those for exactly this DNS name or IP address.'),
      serial: serialParameter('Only those of this serial number: hex, with or without colons.'),
      expires_before: timeParameter('Only those that end before this time.'),
      expires_after: timeParameter('Only those that end after this time.'),
    },
    requireOneOf: ['acme_key_id', 'directory_id', 'signing_cert_id'],
    defaultDirection: 'desc',
    item: listedIssuedCert,
    list: ({ ca, filters, page }) =>
      listIssuedCerts(
        ca,
        {
          acmeKeyId: filters.acme_key_id,
          directoryId: filters.directory_id,
          signingCertId: filters.signing_cert_id,
          state: filters.state,
          subject: filters.subject,
          serial: filters.serial,
          expiresBefore: filters.expires_before,
          expiresAfter: filters.expires_after,
        },
        page,
      ),
    render: renderIssuedCert,
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    operationId: 'getIssuedCert',
    tag,
    summary: 'Retrieve an issued cert',
    permission: 'read',
    params,
    replies: { 200: { description: 'The issued cert, with the intermediates above it.', schema: singleIssuedCert } },
    handle: async ({ ca, params: { id } }) => {
      const view = await getIssuedCert(ca, id);
      return ok({ ...renderIssuedCert(view), public_cert: view.publicCert, cert_chain: view.certChain });
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    operationId: 'revokeIssuedCert',
    tag,
    summary: 'Revoke an issued cert',
    description:
      'Takes at most one of `reason` and `revoke_reason`; unspecified when neither is given. `key_compromise` also blocks ' +
      'the key: it is never accepted again. OCSP says so at once, the CRL within seconds.',
    permission: 'admin',
    params,
    body: withReason(optional(createBody('issued_cert', 'IssuedCertRevocation', revocationFields))),
    replies: { 200: { description: 'The issued cert, revoked.', schema: singleIssuedCert } },
    handle: async ({ ca, caller, params: { id }, body: { chosen } }) => {
      const view = await revokeIssuedCert(ca, caller, id, chosen);
      return ok({ ...renderIssuedCert(view), public_cert: view.publicCert });
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id/download`,
    operationId: 'downloadIssuedCert',
    tag,
    summary: 'Download an issued cert',
    description: '`chain` and `pkcs7` hold the intermediates above it too, the certificate itself first.',
    permission: 'read',
    params,
    query: { format: withDefault(enumParameter(certFileFormats, 'What kind of file.'), 'pem') },
    replies: {
      200: {
        description: 'The file. Content-Disposition names it by the serial number.',
        mediaTypes: Object.values(fileTypes).map(({ mediaType }) => mediaType),
        headers: { 'Content-Disposition': 'A name for the file: `attachment; filename="<serial>.pem"`.' },
      },
    },
    handle: async ({ ca, params: { id }, query: { format } }) => {
      const { contents, serial } = await getIssuedCertFile(ca, id, format);
      const { mediaType, parameters = '', nameEnd } = fileTypes[format];
      return content(`${mediaType}${parameters}`, contents, {
        'Content-Disposition': `attachment; filename="${serial}${nameEnd}"`,
      });
    },
  }),
];

export function renderIssuedCert(view: IssuedCertView) {
  return {
    id: formatId('icrt', view.id),
    object: 'issued_cert',
    acme_key_id: formatId('acmk', view.acmeKeyId),
    directory_id: formatId('dir', view.directoryId),
    order_id: formatId('ordr', view.orderId),
    signing_cert_id: formatId('scrt', view.signingCertId),
    expires_at: formatSeconds(view.expiresAt),
    state: view.state,
    revoke_reason: view.revokeReason ?? null,
    subjects: view.subjects,
  };
}

function subjectParameter(description: string): Parameter<string | undefined> {
  return {
    schema: Type.String({ minLength: 1, maxLength: 255, description, examples: ['shop.corp.example'] }),
    isRequired: false,
    read: (text) => {
      if (text === undefined) return undefined;
      const subject = parseSubject(text);
      if (subject.ok) return subject.value;
      const problems = [{ field: 'subject', code: 'bad_subject', message: subject.refusal.replace(/\.$/, '') }];
      throw new ApiRefusal('invalid_query', `subject: ${subject.refusal}`, { problems });
    },
  };
}

function serialParameter(description: string): Parameter<Buffer | undefined> {
  return {
    schema: describe(serialNumber, description),
    isRequired: false,
    read: (text) => (text === undefined ? undefined : parseSerial(text)),
  };
}
