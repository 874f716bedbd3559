// The key store, and whether every CA cert of the database has its key there.
import { inventoryOfKeys } from '../../core/key-inventory.ts';
import { schemaStatus } from '../../store/migrate.ts';
import { type Finding, failed, ok, type Patient, skipped, warning } from './finding.ts';

const SHOWN = 5;

export async function checkKeys(patient: Patient): Promise<Finding> {
  const { keys, place } = await patient.keys();
  const { length } = await keys.list();
  return ok(length === 0 ? `no keys in ${place} yet` : `${length} readable in ${place}`);
}

export async function checkCaKeys(patient: Patient): Promise<Finding> {
  const { database } = await patient.keyless();
  const { pending } = await schemaStatus(database.db);
  if (pending.length > 0) return skipped('the database holds nothing yet');
  const { fitting, missing, mismatched, strays } = await inventoryOfKeys(await patient.ca());
  const troubles = [
    ...(missing.length > 0 ? [`missing: ${shortList(missing)}`] : []),
    ...(mismatched.length > 0 ? [`another key in its place: ${shortList(mismatched)}`] : []),
  ];
  if (troubles.length > 0)
    return failed(
      troubles.join('; '),
      'They sign nothing. Restore the keys from a backup; a lost key is lost, and its CA has to be replaced.',
    );
  const detail = `${fitting} CA certs have theirs`;
  if (strays.length === 0) return ok(detail);
  return warning(
    `${detail}; no CA cert of this database has ${shortList(strays)}`,
    'Keep them while a backup of a database may need them. They are found again by a SigningCert of the same name.',
  );
}

const shortList = (items: readonly string[]): string =>
  [...items.slice(0, SHOWN), ...(items.length > SHOWN ? [`${items.length - SHOWN} more`] : [])].join(', ');
