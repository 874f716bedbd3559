// Nonces across a crash of Postgres, which empties the tables behind them: refused then, and never accepted twice.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { type Nonces, openNonces } from '../../src/core/nonces.ts';
import { beginSigned } from '../../src/store/acme-requests.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { testClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { runPostgres } from '../support/postgres-process.ts';

test('NON-10: after a crash of the database no old nonce is good, spent or not, and each replica gives new ones', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'acmery-nonces-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  await using postgres = await runPostgres({ dataDir });
  const { url = '' } = postgres.said;
  await using one = openDatabase({ url });
  await using two = openDatabase({ url });
  await migrate(one.db);
  const clock = testClock();
  const [first, second] = [await openNonces({ database: one, clock }), await openNonces({ database: two, clock })];
  const [spent, unspent, atSecond] = [first.issue(), first.issue(), second.issue()];
  await spend(two, second, spent);

  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(one.db);
  process.kill(rows[0]?.pid ?? 0, 'SIGKILL');
  for (const { db } of [one, two])
    await eventually('the database is there again, and empty', async () => {
      const found = await sql`select from nonce_keys`.execute(db).catch(() => undefined);
      return found?.rows.length === 0;
    });

  for (const nonce of [spent, unspent])
    await expect(spend(one, first, nonce)).rejects.toMatchObject({ type: 'badNonce' });
  // The second has not heard of it; what it gave is as dead, and one refusal teaches it.
  await expect(spend(two, second, atSecond)).rejects.toMatchObject({ type: 'badNonce' });
  await spend(one, first, second.issue());
  await spend(two, second, first.issue());
});

/** As a signed request does, for a directory that is not there. */
async function spend({ db }: Database, nonces: Nonces, text: string): Promise<void> {
  const nonce = await nonces.read(text);
  const { claimed } = await beginSigned(db, { slug: 'none', accountId: null, nonce });
  await nonces.requireClaimed(claimed);
}
