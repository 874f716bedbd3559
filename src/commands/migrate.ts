// `acmery migrate`: brings the schema up to date and says what it did.
import { databaseUrlFor } from '../app/open-ca.ts';
import type { Settings } from '../config/settings.ts';
import { migrateAt } from '../store/await-database.ts';
import { migrations } from '../store/migrations/index.ts';
import { quietLogOf } from './log.ts';

export async function migrateCommand(settings: Settings): Promise<number> {
  await using scope = new AsyncDisposableStack();
  const url = await databaseUrlFor(settings, quietLogOf(settings), scope);
  for (const name of await migrateAt(url)) console.log(`applied ${name}`);
  console.log(`The schema is up to date (${migrations.at(-1)?.name}).`);
  return 0;
}
