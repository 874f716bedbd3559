// The migrations in the order in which they are applied. The list only grows: a released file never changes.
import { readOwnFile } from '../../program.ts';

export type Migration = { readonly name: string; readonly sql: string };

const names = ['0001-ca', '0002-acme', '0003-publication', '0004-service'];

export const migrations: readonly Migration[] = names.map((name) => ({
  name,
  sql: readOwnFile(`store/migrations/${name}.sql`),
}));
