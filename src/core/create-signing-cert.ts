// Creating a CA cert: which of the ways the caller takes, and everything that is wrong with the fields before anything is done.
import {
  type SigningCertInput,
  type SigningCertVariant,
  signingCertVariant,
} from '../resources/signing-cert-variants.ts';
import type { SigningCertRow } from '../store/signing-certs.ts';
import type { Ca } from './ca.ts';
import { FieldProblems } from './field-problems.ts';
import { readGeneratedIntermediate, readGeneratedRoot } from './generate-signing-cert.ts';
import { newUuid } from './ids.ts';
import { readOfflineImport, readOnlineImport } from './import-signing-cert.ts';
import type { Begun, Plan } from './make-signing-cert.ts';
import type { Author } from './origin.ts';
import { readRequested } from './request-signing-cert.ts';
import { type SingleSigningCertView, signingCertView } from './signing-certs.ts';

/** Reads the fields of one way into what is to be done; undefined where it has told problems. */
type Reader = (input: SigningCertInput, problems: FieldProblems, now: Date) => Promise<Plan | undefined>;

const readers = {
  generate_root: readGeneratedRoot,
  generate_intermediate: readGeneratedIntermediate,
  request: readRequested,
  import_offline: readOfflineImport,
  import_online: readOnlineImport,
} satisfies Record<SigningCertVariant, Reader>;

/**
 * Creates a CA cert by one of the ways of signing-cert-variants.ts; `signing_cert_id` is a uuid here. Holds the parent
 * against deletion. Throws `invalid` with all problems of the fields, `unknown_reference`, `cannot_sign`,
 * `duplicate_certificate` and `unavailable`, and leaves nothing behind then.
 */
export async function createSigningCert(
  ca: Ca,
  author: Author,
  input: SigningCertInput,
): Promise<SingleSigningCertView> {
  const row = await makeFrom(ca, author, input, { id: newUuid(ca.clock.now()) });
  return { ...signingCertView(row), inUse: false };
}

/** The same of one that may have been begun. */
export async function makeFrom(ca: Ca, author: Author, input: SigningCertInput, begun: Begun): Promise<SigningCertRow> {
  const { variant, problems: found } = signingCertVariant(input);
  const problems = new FieldProblems(found);
  const plan = await readers[variant](input, problems, ca.clock.now());
  problems.refuse();
  if (plan === undefined) throw new Error('The fields of a CA cert have no problem, and give no plan either.');
  return plan(ca, author, begun);
}
