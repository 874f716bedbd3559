// OCSP answers (RFC 6960 section 4.2) as they are built: what is said of each certificate, signed, or why nothing is said.
import { createHash } from 'node:crypto';
import type { KeyType } from './algorithms.ts';
import { type CrlReason, crlReasons } from './crl.ts';
import {
  type Encodable,
  encodeDer,
  enumerated,
  explicit,
  generalizedTime,
  implicit,
  implicitSequence,
  octetString,
  oid,
  raw,
  sequence,
} from './der-writer.ts';
import { encodeExtensions } from './extensions.ts';
import type { OcspHash } from './ocsp-request.ts';
import { oids } from './oids.ts';
import { assembleSigned } from './signed.ts';
import { parseSpki } from './spki.ts';

export type OcspStatus =
  | { readonly status: 'good' }
  | { readonly status: 'revoked'; readonly revokedAt: Date; readonly reason: CrlReason }
  | { readonly status: 'unknown' };

export type OcspStatement = {
  /** DER of the CertID as it was asked. */
  readonly certId: Buffer;
  readonly status: OcspStatus;
};

export type OcspResponseFields = {
  /** `keyHashOf` the key that signs, by SHA-1: the only form of the standard. */
  readonly responderKeyHash: Buffer;
  readonly statements: readonly OcspStatement[];
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  /** As it was asked. */
  readonly nonce?: Buffer | undefined;
};

/** Why there is no answer, by the codes of section 4.2.1. */
const errorCodes = { malformedRequest: 1, internalError: 2, tryLater: 3, unauthorized: 6 } as const;
export type OcspError = keyof typeof errorCodes;

/** Digest of the bits of a public key, as issuers and responders are named. */
export const keyHashOf = (spki: Buffer, hash: OcspHash): Buffer =>
  createHash(hash).update(parseSpki(spki, 'the public key').keyBits).digest();

/** ResponseData: the bytes that are to be signed. It is produced at `thisUpdate`. */
export function buildTbsOcspResponse(fields: OcspResponseFields): Buffer {
  const { thisUpdate, nextUpdate, nonce } = fields;
  const until = explicit(0, generalizedTime(nextUpdate));
  return encodeDer(
    sequence(
      explicit(2, octetString(fields.responderKeyHash)),
      generalizedTime(thisUpdate),
      sequence(
        ...fields.statements.map(({ certId, status }) =>
          sequence(raw(certId), encodeStatus(status), generalizedTime(thisUpdate), until),
        ),
      ),
      nonce === undefined ? undefined : explicit(1, encodeExtensions([nonceExtension(nonce)])),
    ),
  );
}

/** The whole answer, with the certificate of the key that signed it. */
export function assembleOcspResponse(tbs: Buffer, keyType: KeyType, signature: Buffer, certificate: Buffer): Buffer {
  const basic = assembleSigned(tbs, keyType, signature, explicit(0, sequence(raw(certificate))));
  const bytes = sequence(oid(oids.ocspBasic), octetString(basic));
  return encodeDer(sequence(enumerated(SUCCESSFUL), explicit(0, bytes)));
}

/** Nobody signs these. */
export const ocspErrorResponse = (error: OcspError): Buffer => encodeDer(sequence(enumerated(errorCodes[error])));

const SUCCESSFUL = 0;

function encodeStatus(status: OcspStatus): Encodable {
  switch (status.status) {
    case 'good':
      return implicit(0, Buffer.alloc(0));
    case 'revoked':
      return implicitSequence(1, generalizedTime(status.revokedAt), encodeReason(status.reason));
    case 'unknown':
      return implicit(2, Buffer.alloc(0));
  }
}

/** Left out where it is unspecified, as in CRLs. */
function encodeReason(reason: CrlReason): Encodable | undefined {
  const code = crlReasons.indexOf(reason);
  return code === 0 ? undefined : explicit(0, enumerated(code));
}

const nonceExtension = (nonce: Buffer) => ({
  oid: oids.ocspNonce,
  critical: false,
  value: encodeDer(octetString(nonce)),
});
