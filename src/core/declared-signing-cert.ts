// CA certs that custom resources declare: made, found again, taken over, changed and left behind.
import { type SigningCertInput, signingCertVariant } from '../resources/signing-cert-variants.ts';
import {
  type DeclaredSigningCertRow,
  dropPendingSigningCert,
  findDeclaredSigningCert,
  type SigningCertRow,
} from '../store/signing-certs.ts';
import { keyTypeOf } from '../x509/spki.ts';
import { type Applied, declaredAs, standingOf, untilAlone } from './adoption.ts';
import type { Ca } from './ca.ts';
import { changeSigningCert } from './change-signing-cert.ts';
import { completeSigningCert } from './complete-signing-cert.ts';
import { makeFrom } from './create-signing-cert.ts';
import { type AppliedAs, authorOf, type Declared, isOwn } from './declared.ts';
import { newUuid } from './ids.ts';
import { installCertificate } from './install-certificate.ts';
import { changedMeanwhile } from './object-kinds.ts';
import { type Author, originColumns } from './origin.ts';
import type { StoredKey } from './ports.ts';
import { findLostKey, restoreSigningCert } from './restore-signing-cert.ts';
import { signingCertDifferences } from './signing-cert-differences.ts';
import { type DeclaredSigningCertView, declaredSigningCertView } from './signing-cert-status.ts';

/** The name is always said. */
export type DeclaredSigningCert = SigningCertInput & { readonly name: string };

/** Somebody else has inserted the row of the same object. */
const twinConstraints = ['signing_certs_origin_key', 'signing_certs_pkey'];

/**
 * Makes the CA cert of a custom resource as it is declared, once: what a crash has left is gone on with, and a key that is
 * in the key store without a row, because the database is new, is taken with its certificate. `signing_cert_id` is a uuid.
 * A certificate may come later, for the CSR. One read where nothing changes. Throws what createSigningCert throws,
 * `immutable`, `already_exists`, and `conflict` for a state of the object that is not the last one.
 */
export const applySigningCert = (
  ca: Ca,
  declared: Declared,
  input: DeclaredSigningCert,
): Promise<Applied<DeclaredSigningCertView>> =>
  untilAlone(twinConstraints, async () => {
    const author = authorOf(declared);
    const row = await findRow(ca, declared);
    if (row === undefined) return make(ca, author, declared, input);
    return isInTheMaking(row) ? goOn(ca, author, declared, input, row) : keep(ca, author, declared, input, row);
  });

/** What applying it will take: the parent while there is no row, and what is imported while its key is not here either. */
export async function neededForSigningCert(
  ca: Ca,
  declared: Declared,
): Promise<{ readonly parent: boolean; readonly material: boolean }> {
  const row = await findRow(ca, declared);
  if (row !== undefined && !isInTheMaking(row)) return { parent: false, material: false };
  const stored = row === undefined ? await findLostKey(ca, declared) : await ca.keys.read(row.id);
  return { parent: true, material: stored === undefined };
}

const findRow = (ca: Ca, declared: Declared): Promise<DeclaredSigningCertRow | undefined> =>
  findDeclaredSigningCert(ca.database.db, declaredAs('signing_cert', declared));

/** Nobody but those who make it has seen it. */
export const isInTheMaking = ({ state, csr }: SigningCertRow): boolean => state === 'pending' && csr === null;

type Result = Applied<DeclaredSigningCertView>;

async function make(ca: Ca, author: Author, declared: Declared, input: DeclaredSigningCert): Promise<Result> {
  const lost = await findLostKey(ca, declared);
  if (lost?.certificate !== undefined) {
    const row = await restoreSigningCert(ca, declared, input, { ...lost, certificate: lost.certificate });
    return answered(ca, author, row, input, 'adopted');
  }
  const stored = lost !== undefined && isKeyOfRequest(lost, input) ? lost : undefined;
  const row = await makeFrom(ca, author, toBeMade(input), { id: stored?.ref ?? newUuid(ca.clock.now()), stored });
  return answered(ca, author, row, input, stored === undefined ? 'created' : 'adopted');
}

/** The row of an object that was deleted without our knowledge is that of the next one of the name, too. */
async function goOn(
  ca: Ca,
  author: Author,
  declared: Declared,
  input: DeclaredSigningCert,
  row: DeclaredSigningCertRow,
): Promise<Result> {
  const isFenced = isOwn('signing_cert', declared, row) && row.origin_generation === declared.generation;
  const stored = await ca.keys.read(row.id);
  if (stored === undefined && signingCertDifferences(row, input).length > 0) {
    await dropPendingSigningCert(ca.database.db, row.id);
    return make(ca, author, declared, input);
  }
  const begun = isFenced ? row : await changeSigningCert(ca, author, row, originColumns(author));
  if (begun === undefined) throw changedMeanwhile('signing_cert');
  if (stored === undefined) {
    const made = await makeFrom(ca, author, toBeMade(input), { id: row.id, row: begun });
    return answered(ca, author, made, input, 'created');
  }
  const completed = await completeSigningCert(ca, author, begun, stored);
  const { view } = await keep(ca, author, declared, input, { ...completed, valid_days: row.valid_days });
  return { as: 'created', view };
}

async function keep(
  ca: Ca,
  author: Author,
  declared: Declared,
  input: DeclaredSigningCert,
  seen: DeclaredSigningCertRow,
): Promise<Result> {
  const standing = standingOf('signing_cert', seen, declared, signingCertDifferences(seen, input));
  const isRenamed = input.name !== seen.name;
  const isFenced = standing === 'own' && seen.origin_generation === declared.generation;
  const changes = { ...(isRenamed && { name: input.name }), ...(!isFenced && originColumns(author)) };
  const isSame = Object.keys(changes).length === 0;
  const row = isSame ? seen : await changeSigningCert(ca, author, seen, changes);
  if (row === undefined) throw changedMeanwhile('signing_cert');
  if (standing === 'adopted') return answered(ca, author, row, input, 'adopted');
  return answered(ca, author, row, input, isRenamed ? 'updated' : 'unchanged');
}

/** With the certificate that its CSR has asked for, if it has come. */
async function answered(
  ca: Ca,
  author: Author,
  row: SigningCertRow,
  { public_cert: pem, name }: DeclaredSigningCert,
  as: AppliedAs,
): Promise<Result> {
  if (row.der !== null || pem === undefined || pem === null) return { as, view: declaredSigningCertView(row) };
  const installed = await installCertificate(ca, author, row, { pem, name });
  if (installed === undefined) throw changedMeanwhile('signing_cert');
  return { as: as === 'unchanged' ? 'updated' : as, view: declaredSigningCertView(installed) };
}

/** Whether a key without a certificate can be that of the CSR that is declared. */
const isKeyOfRequest = ({ spki }: StoredKey, input: DeclaredSigningCert): boolean =>
  signingCertVariant(toBeMade(input)).variant === 'request' && keyTypeOf(spki) === input.private_key_type;

/** Of an object, the certificate beside a type of key to generate is the answer to the CSR for that key. */
function toBeMade({ public_cert: answer, ...input }: DeclaredSigningCert): DeclaredSigningCert {
  const isRequested = input.private_key_type !== undefined && input.key_availability === 'online';
  return isRequested || answer === undefined ? input : { ...input, public_cert: answer };
}
