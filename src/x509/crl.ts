// Certificate revocation lists (RFC 5280 section 5) as they are built: entries once, the list from their bytes.
import { type KeyType, keyAlgorithms } from './algorithms.ts';
import {
  bitString,
  encodeDer,
  enumerated,
  explicit,
  integer,
  sequence,
  sequenceHeader,
  sequenceOfEncoded,
  time,
} from './der-writer.ts';
import { authorityKeyIdentifier, crlNumber, encodeExtensions } from './extensions.ts';
import { oids } from './oids.ts';

/** Section 5.3.1: names by their codes; 7 is not used. */
export const crlReasons = [
  'unspecified',
  'keyCompromise',
  'cACompromise',
  'affiliationChanged',
  'superseded',
  'cessationOfOperation',
  'certificateHold',
  undefined,
  'removeFromCRL',
  'privilegeWithdrawn',
  'aACompromise',
] as const;
export type CrlReason = NonNullable<(typeof crlReasons)[number]>;

export type CrlFields = {
  /** DER of the issuer's subject name, byte for byte. */
  readonly issuer: Buffer;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  /** Entries of `crlEntry`, one after the other, in any number of pieces. */
  readonly entries: readonly Buffer[];
  readonly number: bigint;
  /** Subject key identifier of the issuer. */
  readonly issuerKeyIdentifier: Buffer;
  readonly issuerKeyType: KeyType;
};

const V2 = 1;

/** One entry; the reason is left out where it is unspecified (section 5.3.1). */
export function crlEntry(serial: Buffer, revokedAt: Date, reason: CrlReason): Buffer {
  const code = crlReasons.indexOf(reason);
  const extension = { oid: oids.reasonCode, critical: false, value: encodeDer(enumerated(code)) };
  return encodeDer(sequence(integer(serial), time(revokedAt), code === 0 ? undefined : encodeExtensions([extension])));
}

/** A version 2 TBSCertList. The entries are copied once, as they are; a list without entries has no such field. */
export function buildTbsCrl(fields: CrlFields): Buffer {
  const extensions = [authorityKeyIdentifier(fields.issuerKeyIdentifier), crlNumber(fields.number)];
  return sequenceOfEncoded(
    encodeDer(integer(V2)),
    keyAlgorithms[fields.issuerKeyType].signature.algorithm,
    fields.issuer,
    encodeDer(time(fields.thisUpdate)),
    encodeDer(time(fields.nextUpdate)),
    ...(fields.entries.some(({ length }) => length > 0) ? [sequenceHeader(fields.entries), ...fields.entries] : []),
    encodeDer(explicit(0, encodeExtensions(extensions))),
  );
}

export const assembleCrl = (tbs: Buffer, issuerKeyType: KeyType, signature: Buffer): Buffer =>
  sequenceOfEncoded(tbs, keyAlgorithms[issuerKeyType].signature.algorithm, encodeDer(bitString(signature)));
