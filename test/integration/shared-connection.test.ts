// Connections that many share, at their end and beside it.
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Database, type Db, openDatabase } from '../../src/store/database.ts';
import { DatabaseUnavailable } from '../../src/store/database-error.ts';
import { gatheredOn } from '../../src/store/gathered.ts';
import { quickly } from '../../src/store/quick-writes.ts';
import { sql, verbatim } from '../../src/store/statement.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

type Work = (db: Db) => Promise<unknown>;

/** On the connection of the reads, gathered with nothing else. */
const reading = ({ db }: Database, work: Work): Promise<unknown> =>
  gatheredOn<Work, unknown>(async (shared) => {
    const result = await work(shared);
    return () => result;
  })(db, work);

const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'answered',
    (error: Error) => `${error.name}: ${error.message}`,
  );

async function roleOfOneConnection({ db, url }: TestDatabase) {
  const name = `acmery_test_${randomBytes(6).toString('hex')}`;
  await sql`create role ${verbatim(name)} login password 'words' connection limit 1`.execute(db.db);
  const own = Object.assign(new URL(url), { username: name, password: 'words' });
  return {
    url: own.href,
    [Symbol.asyncDispose]: async () => void (await sql`drop role ${verbatim(name)}`.execute(db.db)),
  };
}

test('what is under way is cut off some time after the database was closed', async () => {
  await using test = await testDatabase({ closeTimeoutMs: 100 });
  await using watcher = openDatabase({ url: test.url });
  const sleep: Work = (db) => sql`select pg_sleep(${60})`.execute(db);
  const { db } = test.db;
  const sleeping = [sleep(db), sleep(quickly(db)), reading(test.db, sleep)].map(messageOf);
  await eventually('all three run', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%' and state = 'active'`.execute(
      watcher.db,
    );
    return rows.length === 3;
  });

  await test.db.close();

  const cutOff = 'DatabaseUnavailable: The database went away: Connection terminated';
  expect(await Promise.all(sleeping)).toEqual([cutOff, cutOff, cutOff]);
});

test('where the server gives no more connections, quick writes go over those that the pool has', async () => {
  await using test = await testDatabase();
  await using role = await roleOfOneConnection(test);
  await using database = openDatabase({ url: role.url });
  await sql`create table thing (backend int)`.execute(test.db.db);
  await sql`grant all on thing to public`.execute(test.db.db);
  const { rows: ofPool } = await sql`select pg_backend_pid() as backend`.execute(database.db);

  const write = () => sql`insert into thing values (pg_backend_pid()) returning backend`.execute(quickly(database.db));

  expect((await write()).rows).toEqual(ofPool);
  await database.close();
  await expect(write()).rejects.toThrow(DatabaseUnavailable);
  expect((await sql`select backend from thing`.execute(test.db.db)).rows).toEqual(ofPool);
});

test('a connection that has become useless takes nothing more, while what is under way on it is answered', async () => {
  await using test = await testDatabase();
  await using other = openDatabase({ url: test.url });
  for (const name of ['changed', 'held']) await sql`create table ${verbatim(name)} (id int)`.execute(other.db);
  const read: Work = (db) => sql`select id from changed where ${true}::bool`.execute(db);
  await reading(test.db, read);
  await sql`alter table changed alter column id type text`.execute(other.db);

  let waiting: Promise<unknown> | undefined;
  await other.inTransaction(async (tx) => {
    await sql`lock table held`.execute(tx);
    const stale = messageOf(reading(test.db, read));
    waiting = reading(test.db, (db) => sql`select id from held where ${true}::bool`.execute(db));
    expect(await stale).toContain('cached plan must not change result type');
    expect(await reading(test.db, read)).toEqual({ rows: [] });
  });
  expect(await waiting).toEqual({ rows: [] });
});
