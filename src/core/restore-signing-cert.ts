// A CA cert whose key and certificate are in the key store while the database does not know it: it is new.
import type { SigningCertInput } from '../resources/signing-cert-variants.ts';
import { hasSigningCert, insertSigningCert, type SigningCertRow } from '../store/signing-certs.ts';
import { isCaKeyType } from '../x509/algorithms.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { declaredAs, standsInTheWay } from './adoption.ts';
import type { Ca } from './ca.ts';
import { writeCreation } from './complete-signing-cert.ts';
import { authorOf, type Declared } from './declared.ts';
import { CaError } from './errors.ts';
import { importedRow } from './import-signing-cert.ts';
import { originColumns } from './origin.ts';
import type { StoredKey } from './ports.ts';
import { signingCertDifferences } from './signing-cert-differences.ts';
import { certificateColumns } from './signing-cert-facts.ts';

/**
 * The key that was made for the object, or is that of the row that it is to take over, where the database has no such row.
 * One without a certificate is that of a CSR.
 */
export async function findLostKey(ca: Ca, declared: Declared): Promise<StoredKey | undefined> {
  const { namespace, name, uid } = declared;
  const { adopt } = declaredAs('signing_cert', declared);
  const named = adopt === undefined ? undefined : await ca.keys.read(adopt);
  const stored = named ?? (await ca.keys.find({ namespace, name, uid }));
  return stored === undefined || (await hasSigningCert(ca.database.db, stored.ref)) ? undefined : stored;
}

/**
 * The row as it was, but for what only the database knew: dates and names of changes, and its revocation. Holds the parent
 * against deletion. Throws `invalid` where the parent that is named did not sign it, and `already_exists` where what is
 * declared is another CA cert.
 */
export async function restoreSigningCert(
  ca: Ca,
  declared: Declared,
  input: SigningCertInput,
  { ref: id, certificate: der }: StoredKey & { readonly certificate: Buffer },
): Promise<SigningCertRow> {
  const certificate = parseCertificate(der);
  const { keyType } = certificate;
  if (keyType === undefined || !isCaKeyType(keyType))
    throw new CaError('invalid', `The certificate in the key store for ${id} is not that of a CA cert.`);
  const author = authorOf(declared);
  const isNamed = declaredAs('signing_cert', declared).adopt === id;
  return writeCreation(ca, author, async (tx) => {
    const row = await insertSigningCert(tx, {
      ...(await importedRow(tx, input, { certificate, keyType })),
      ...certificateColumns(certificate),
      ...originColumns(author),
      id,
      key_ref: id,
      state: 'active',
      key_availability: 'online',
      created_at: ca.clock.now(),
    });
    const differences = signingCertDifferences({ ...row, valid_days: input.valid_days ?? null }, input);
    if (differences.length > 0 && !isNamed) throw standsInTheWay('signing_cert', id, differences);
    return row;
  });
}
