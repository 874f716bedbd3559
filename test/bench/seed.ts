// A database that has a million issued certs, settled as one that has had them for long.
import { sql } from 'kysely';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { seedMillionCerts } from '../support/million-certs.ts';

const DER_BYTES = 620;

/** `durable`: writing costs what it costs elsewhere; reading needs no such thing. */
export async function seedDatabase(url: string, { durable = false } = {}): Promise<void> {
  await using database = openDatabase({ url, statementTimeoutMs: 0, transactionIdleTimeoutMs: 0 });
  await migrate(database.db);
  await seedMillionCerts(database.db, new Date(), { derBytes: DER_BYTES });
  // Nobody has the keys that the rows name, and a server all of whose keys are lost is not ready.
  await sql`update signing_certs set key_ref = null where key_ref is not null`.execute(database.db);
  if (durable) {
    for (const table of ['issued_certs', 'issued_cert_names'])
      await sql`alter table ${sql.table(table)} set logged`.execute(database.db);
  }
  // What Postgres owes for so much that is new is paid before the measuring begins.
  await sql`vacuum (analyze)`.execute(database.db);
  await sql`checkpoint`.execute(database.db);
}
