// Making a CA cert whose key is kept here: row, key, certificate, in steps of which each can be the last before a crash.
import type { Tx } from '../store/database.ts';
import {
  dropPendingSigningCert,
  findChain,
  hasSigningCert,
  insertSigningCert,
  type NewSigningCert,
  type SigningCertRow,
  type UnfinishedSigningCert,
} from '../store/signing-certs.ts';
import type { Ca } from './ca.ts';
import { completeSigningCert } from './complete-signing-cert.ts';
import { formatId } from './ids.ts';
import { type Author, originColumns } from './origin.ts';
import type { KeyMaterial, StoredKey } from './ports.ts';

/** The id of a CA cert that is to be made, and what is there of it already: custom resources go on where a crash ended. */
export type Begun = {
  readonly id: string;
  /** Pending. */
  readonly row?: UnfinishedSigningCert | undefined;
  readonly stored?: StoredKey | undefined;
};

/** What is to be done once all fields are read. */
export type Plan = (ca: Ca, author: Author, begun: Begun) => Promise<SigningCertRow>;

/** What a CA cert is made of besides its key. */
export type MakingRow = Pick<
  NewSigningCert,
  'cert_type' | 'name' | 'key_type' | 'parent_id' | 'subject' | 'valid_days' | 'path_length' | 'name_constraints'
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
 * finishPendingSigningCerts takes up, and for a custom resource its next visit, also after a refusal; of /v1 a refusal
 * leaves nothing behind. `prepare` runs in the transaction that inserts the row. Throws what it throws, and what `make`
 * throws.
 */
export async function makeSigningCert(
  ca: Ca,
  author: Author,
  begun: Begun,
  prepare: (tx: Tx) => Promise<Prepared>,
): Promise<SigningCertRow> {
  const { id } = begun;
  const { pending, make } = await ca.database.inTransaction(async (tx) => {
    const prepared = await prepare(tx);
    return {
      make: prepared.make,
      pending: begun.row ?? (await insertSigningCert(tx, newRow(ca, author, begun, prepared))),
    };
  });
  try {
    const stored = begun.stored ?? (await store());
    return await completeSigningCert(ca, author, pending, stored);
  } catch (error) {
    if (author.declared === undefined) await undoMaking(ca, id);
    throw error;
  }

  async function store(): Promise<StoredKey> {
    const chain = pending.parent_id === null ? [] : await findChain(ca.database.db, pending.parent_id);
    const above = chain.map(({ der }) => der).filter((der) => der !== null);
    return ca.keys.createOnce(id, { ...(await make()), chain: above, ...keyOrigin(author) });
  }
}

const newRow = (ca: Ca, author: Author, { id }: Begun, { row }: Prepared): NewSigningCert => ({
  ...row,
  ...originColumns(author),
  id,
  key_ref: id,
  state: 'pending',
  key_availability: 'online',
  created_at: ca.clock.now(),
});

function keyOrigin({ declared }: Author): Pick<KeyMaterial, 'origin'> {
  if (declared === undefined) return {};
  const { namespace, name, uid } = declared;
  return { origin: { namespace, name, uid } };
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
