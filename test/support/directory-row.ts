// A directory straight in the database, for tests that need one to exist and nothing more.
import type { Db } from '../../src/store/database.ts';
import { exampleRows, insertRows } from './rows.ts';

export async function givenDirectoryRow(
  db: Db,
  slug?: string,
): Promise<{ readonly id: string; readonly slug: string }> {
  const rows = exampleRows();
  const directory = { ...rows.directories, ...(slug !== undefined && { slug }) };
  await insertRows(db, { ...rows, directories: directory }, ['signing_certs', 'directories']);
  return directory;
}
