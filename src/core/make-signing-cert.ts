// Making a CA cert whose key is kept here: row, key, certificate, in steps of which each can be the last before a crash.
import type { Tx } from '../store/database.ts';
import {
  dropPendingSigningCert,
  hasSigningCert,
  insertSigningCert,
  type NewSigningCert,
  type SigningCertRow,
} from '../store/signing-certs.ts';
import type { Ca } from './ca.ts';
import type { Actor } from './caller.ts';
import { completeSigningCert } from './complete-signing-cert.ts';
import { formatId } from './ids.ts';
import type { KeyMaterial } from './ports.ts';

/** What is to be done once all fields are read. */
export type Plan = (ca: Ca, actor: Actor) => Promise<SigningCertRow>;

/** What a CA cert is made of besides its key. */
export type MakingRow = Pick<
  NewSigningCert,
  'id' | 'cert_type' | 'name' | 'key_type' | 'parent_id' | 'subject' | 'valid_days' | 'path_length' | 'name_constraints'
>;

/** What is known once all that the CA cert refers to was looked at. */
export type Prepared = {
  readonly row: MakingRow;
  /** The key, and its certificate where one can be had now. */
  readonly make: () => Promise<KeyMaterial>;
};

/**
 * Makes a CA cert: a pending row, which nobody sees; key and certificate in memory; both into the key store; the row
 * active with what the store holds, or, where there is no certificate, visible with a CSR. What a crash interrupts
 * finishPendingSigningCerts takes up. A refusal leaves nothing behind. `prepare` runs in the transaction that inserts
 * the row. Throws what it throws, and what `make` throws.
 */
export async function makeSigningCert(
  ca: Ca,
  actor: Actor,
  prepare: (tx: Tx) => Promise<Prepared>,
): Promise<SigningCertRow> {
  const { pending, make } = await ca.database.inTransaction(async (tx) => {
    const prepared = await prepare(tx);
    const { id } = prepared.row;
    const created_at = ca.clock.now();
    const row = { ...prepared.row, state: 'pending', origin: 'api', key_availability: 'online', created_at } as const;
    return { make: prepared.make, pending: await insertSigningCert(tx, { ...row, key_ref: id }) };
  });
  try {
    return await completeSigningCert(ca, actor, pending, await ca.keys.createOnce(pending.id, await make()));
  } catch (error) {
    await undoMaking(ca, pending.id);
    throw error;
  }
}

/**
 * Takes back what was begun, but for a row that somebody else has completed. The row goes first: whoever completes it at
 * the same moment keeps its key. False when it cannot be done now, and is left for the sweep.
 */
export async function undoMaking(ca: Ca, id: string): Promise<boolean> {
  try {
    await dropPendingSigningCert(ca.database.db, id);
    if (!(await hasSigningCert(ca.database.db, id))) await ca.keys.remove(id);
    return true;
  } catch (error) {
    ca.events.signingCertUndoFailed({ id: formatId('scrt', id), error });
    return false;
  }
}
