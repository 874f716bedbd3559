// What becomes of a CA cert when its custom resource is deleted: it serves on and belongs to nobody, or it is deleted too.
import { findDeclaredSigningCert } from '../store/signing-certs.ts';
import type { Ca } from './ca.ts';
import { changeSigningCert } from './change-signing-cert.ts';
import { authorOf, type Declared, isOwn } from './declared.ts';
import { isInTheMaking } from './declared-signing-cert.ts';
import { deleteSigningCert } from './delete-signing-cert.ts';
import { CaError } from './errors.ts';
import { undoMaking } from './make-signing-cert.ts';
import { changedMeanwhile } from './object-kinds.ts';
import { type DeletionPolicy, orphanColumns } from './origin.ts';

/**
 * Retain: CA cert and key stay, and an object of the same name and immutable fields takes them back. Delete: as /v1 deletes.
 * One that was still being made goes with its key either way. Nothing is done where the row is gone or another object's.
 * Throws `in_use`, and `conflict` for a state of the object that is not the last one.
 */
export async function forgetSigningCert(ca: Ca, declared: Declared, policy: DeletionPolicy): Promise<void> {
  const { namespace, name } = declared;
  const row = await findDeclaredSigningCert(ca.database.db, { namespace, name });
  if (row === undefined || !isOwn('signing_cert', declared, row)) return;
  const author = authorOf(declared);
  if (isInTheMaking(row)) {
    if (!(await undoMaking(ca, row.id)))
      throw new CaError('unavailable', 'What was begun of this CA cert cannot be taken back now.');
  } else if (policy === 'Delete') await deleteSigningCert(ca, author, row.id);
  else if ((await changeSigningCert(ca, author, row, orphanColumns(declared, ca.clock.now()))) === undefined)
    throw changedMeanwhile('signing_cert');
}
