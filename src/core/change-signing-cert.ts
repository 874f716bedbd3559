// Changing what may change of a CA cert: its name, and whose it is.
import {
  changeSigningCert as changeRow,
  type SigningCertChanges,
  type SigningCertRow,
} from '../store/signing-certs.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import { type Author, ownedFacts } from './origin.ts';
import { signingCertFacts } from './signing-cert-facts.ts';

/** With a record, unless another state of its custom resource is all that changes. Undefined when somebody else was faster. */
export async function changeSigningCert(
  ca: Ca,
  author: Author,
  seen: SigningCertRow,
  changes: SigningCertChanges,
): Promise<SigningCertRow | undefined> {
  const { id } = seen;
  return ca.database.inTransaction(async (tx) => {
    const row = await changeRow(tx, seen, changes);
    if (row === undefined) return undefined;
    const [before, after] = [seen, row].map((one) => ({ ...signingCertFacts(one), ...ownedFacts(one) }));
    if (JSON.stringify(before) === JSON.stringify(after) || before === undefined || after === undefined) return row;
    await recordChange(tx, author, ca.clock.now(), { action: 'update', kind: 'signing_cert', id, before, after });
    return row;
  });
}
