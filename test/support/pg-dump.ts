// Whether the programs that back up Postgres are here, and new enough for the server of the tests.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import type { Db } from '../../src/store/database.ts';

const run = promisify(execFile);

/** Why `pg_dump` and `pg_restore` cannot be used with a server; undefined where they can. */
export async function withoutPgDump(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ version: string }>`select current_setting('server_version_num') as version`.execute(db);
  const server = Math.floor(Number(rows[0]?.version) / 10_000);
  for (const program of ['pg_dump', 'pg_restore']) {
    const { stdout = '' } = await run(program, ['--version']).catch(() => ({ stdout: undefined }));
    const major = Number(/ (\d+)[.\w]/.exec(stdout ?? '')?.[1] ?? Number.NaN);
    if (Number.isNaN(major)) return `${program} is not installed`;
    if (major < server) return `${program} is that of Postgres ${major}, and the server is Postgres ${server}`;
  }
  return undefined;
}
