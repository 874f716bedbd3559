// Errors of the database that mean a refusal: which ones do, and what to tell the caller.
import { DatabaseError, DatabaseUnavailable } from '../store/database-error.ts';
import { CaError, type ErrorKind } from './errors.ts';

type Row = { readonly kind: ErrorKind; readonly detail: string; readonly field?: string };

const sameObject: Row = { kind: 'conflict', detail: 'Another resource belongs to this custom resource already.' };

/** By constraint name. They are the last line: most refusals come earlier, with a sentence that names values. */
export const constraintRefusals: Readonly<Record<string, Row>> = {
  directory_slugs_slug_key: {
    kind: 'slug_taken',
    field: 'slug',
    detail: 'This slug is, or once was, that of another directory; choose another one.',
  },
  external_bindings_key_id_key: {
    kind: 'key_id_taken',
    field: 'key_id',
    detail: 'This key id is that of another EAB token; choose another one or delete that token.',
  },
  external_bindings_acme_key_id_key: { kind: 'token_used', detail: 'This EAB token has been used.' },
  acme_keys_external_binding_id_key: { kind: 'token_used', detail: 'This EAB token has been used.' },
  acme_keys_thumbprint_key: {
    kind: 'key_reused',
    field: 'public_key',
    detail: 'This public key is that of another account key; make a new key.',
  },
  used_keys_pkey: {
    kind: 'key_reused',
    field: 'public_key',
    detail: 'This public key is, or once was, that of an account key; make a new key.',
  },
  used_keys_not_of_certificate: {
    kind: 'key_reused',
    field: 'public_key',
    detail: 'This public key is that of an issued certificate; make a new key.',
  },
  signing_certs_der_key: {
    kind: 'duplicate_certificate',
    field: 'public_cert',
    detail: 'This certificate is that of another CA cert already; use that one, or delete it first.',
  },
  signing_certs_serial_key: {
    kind: 'duplicate_certificate',
    field: 'public_cert',
    detail: 'Another CA cert of the same parent has this serial number.',
  },
  signing_certs_origin_key: sameObject,
  directories_origin_key: sameObject,
  external_bindings_origin_key: sameObject,
  acme_keys_origin_key: sameObject,
};

/** serialization_failure and deadlock_detected, which the store gives up on after several attempts. */
const contended = new Set(['40001', '40P01']);

/** The refusal that an error means; undefined where it means a bug. */
export function refusalOf(error: unknown): CaError | undefined {
  if (error instanceof CaError) return error;
  if (error instanceof DatabaseUnavailable)
    return new CaError('unavailable', 'The database does not answer for the moment. Try again.', { cause: error });
  if (!(error instanceof DatabaseError)) return undefined;
  if (contended.has(error.code))
    return new CaError('unavailable', 'Too many changes of the same things at once. Try again.', { cause: error });
  const row = constraintRefusals[error.constraint ?? ''];
  return row && new CaError(row.kind, row.detail, { cause: error, ...(row.field && { field: row.field }) });
}
