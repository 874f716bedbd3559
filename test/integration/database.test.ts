import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type RawBuilder, sql } from 'kysely';
import { expect, test } from 'vitest';
import { type Database, openDatabase, type Tx } from '../../src/store/database.ts';
import { DatabaseError, DatabaseUnavailable } from '../../src/store/database-error.ts';
import { quickly } from '../../src/store/quick-writes.ts';
import { sql as statement } from '../../src/store/statement.ts';
import { testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const run = (database: Database, statement: RawBuilder<unknown>) => statement.execute(database.db);

async function value<Value>(database: Database, statement: RawBuilder<{ value: Value }>): Promise<Value | undefined> {
  return (await statement.execute(database.db)).rows[0]?.value;
}

const ownPid = (database: Database) => value(database, sql<{ value: number }>`select pg_backend_pid() as value`);

/** Ends the sessions of one database from a session of another. */
const terminate = (by: Database, pid: number | undefined) => run(by, sql`select pg_terminate_backend(${pid}::int)`);

test('each test has a database of its own', async () => {
  await using one = await testDatabase();
  await using other = await testDatabase();
  await run(one.db, sql`create table thing (id int)`);
  await expect(run(other.db, sql`select * from thing`)).rejects.toThrow('relation "thing" does not exist');
});

test('a statement with values is prepared once per connection', async () => {
  await using test = await testDatabase({ maxConnections: 1 });
  for (const number of [1, 2, 3]) await run(test.db, sql`select ${number}::int + 1`);
  const prepared = sql<{
    value: number;
  }>`select count(*) as value from pg_prepared_statements where statement like '%::int + 1'`;
  expect(await value(test.db, prepared)).toBe(1);
});

test('every statement is planned once a connection', async () => {
  await using test = await testDatabase();
  const mode = sql<{ value: string }>`select current_setting('plan_cache_mode') as value`;
  expect(await value(test.db, mode)).toBe('force_generic_plan');
});

test('values come back in the types that the program uses', async () => {
  await using test = await testDatabase();
  const { rows } = await sql`
    select ${12}::int8 as count, ${new Date(1_234_567_890_123)}::timestamptz as at, ${Buffer.from('der')}::bytea as der,
           ${'0190163d-8694-739b-aea5-966c26f8ad91'}::uuid as id, ${'2026-02-03'}::date as day,
           ${['a', 'b"c']}::text[] as names, ${{ deep: [1] }}::jsonb as json, null::int8 as nothing`.execute(
    test.db.db,
  );
  expect(rows).toEqual([
    {
      count: 12,
      at: new Date(1_234_567_890_123),
      der: Buffer.from('der'),
      id: '0190163d-8694-739b-aea5-966c26f8ad91',
      day: '2026-02-03',
      names: ['a', 'b"c'],
      json: { deep: [1] },
      nothing: null,
    },
  ]);
});

test('a bigint that a number cannot hold is refused, and the connection goes on', async () => {
  await using test = await testDatabase({ maxConnections: 1 });
  await expect(run(test.db, sql`select 9007199254740993::int8`)).rejects.toThrow('too large for a number');
  await test.db.ping();
});

test('a violated constraint is told by its name, without the values', async () => {
  await using test = await testDatabase();
  await run(test.db, sql`create table thing (slug text constraint thing_slug_key unique)`);
  const insert = () => run(test.db, sql`insert into thing values (${'s3cret'})`);
  await insert();
  const error = await insert().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(DatabaseError);
  expect(error).toMatchObject({ code: '23505', constraint: 'thing_slug_key' });
  expect(JSON.stringify([error, Object.entries(error ?? {})])).not.toContain('s3cret');
});

test('a statement that takes too long is cancelled by the server', async () => {
  await using test = await testDatabase({ statementTimeoutMs: 50 });
  await expect(run(test.db, sql`select pg_sleep(30)`)).rejects.toMatchObject({
    name: 'DatabaseUnavailable',
    code: '57014',
  });
  await test.db.ping();
});

test('a lock that is not given in time ends the statement', async () => {
  await using test = await testDatabase({ lockTimeoutMs: 50 });
  await run(test.db, sql`create table thing (id int)`);
  await test.db.inTransaction(async (tx) => {
    await sql`lock table thing`.execute(tx);
    await expect(run(test.db, sql`select * from thing`)).rejects.toMatchObject({
      name: 'DatabaseUnavailable',
      code: '55P03',
    });
  });
});

test('a transaction that is left lying is ended by the server', async () => {
  await using test = await testDatabase({ transactionIdleTimeoutMs: 50 });
  await using watcher = openDatabase({ url: test.url });
  const left = test.db.inTransaction(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
    const sessions = sql<{
      value: number;
    }>`select count(*) as value from pg_stat_activity where pid = ${rows[0]?.pid}::int`;
    await eventually('its session is gone', async () => (await value(watcher, sessions)) === 0);
    await sql`select 1`.execute(tx);
  });
  await expect(left).rejects.toBeInstanceOf(DatabaseUnavailable);
});

test('a pool without a free connection refuses in time', async () => {
  await using test = await testDatabase({ maxConnections: 1, connectTimeoutMs: 100 });
  await test.db.inTransaction(async () => {
    await expect(test.db.ping()).rejects.toBeInstanceOf(DatabaseUnavailable);
  });
});

test('an idle connection that the server ends is replaced, and the process lives', async () => {
  const lost: Error[] = [];
  await using test = await testDatabase({ maxConnections: 1, onConnectionLost: (error) => lost.push(error) });
  await using other = openDatabase({ url: test.url });
  const pid = await ownPid(test.db);
  await terminate(other, pid);
  await eventually('the loss is noticed', () => lost.length > 0);
  expect(lost[0]).toBeInstanceOf(DatabaseUnavailable);
  expect(await ownPid(test.db)).not.toBe(pid);
});

test('a connection that is lost between two statements of a transaction fails the transaction alone', async () => {
  await using test = await testDatabase({ maxConnections: 1 });
  await using other = openDatabase({ url: test.url });
  const failed = test.db.inTransaction(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
    await terminate(other, rows[0]?.pid);
    await sql`select 1`.execute(tx);
  });
  await expect(failed).rejects.toBeInstanceOf(DatabaseUnavailable);
  await test.db.ping();
});

test('a prepared statement survives a change of its columns at the price of one refusal', async () => {
  await using test = await testDatabase({ maxConnections: 1 });
  await using other = openDatabase({ url: test.url });
  await run(other, sql`create table thing (id int)`);
  const read = () => run(test.db, sql`select id from thing where ${true}::bool`);
  await read();
  await run(other, sql`alter table thing alter column id type text`);
  await expect(read()).rejects.toBeInstanceOf(DatabaseUnavailable);
  await read();
});

/** Holds the first attempts back until both have come so far. */
function meetingOfTwo(): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  return async () => {
    arrived += 1;
    if (arrived === 2) resolve();
    await promise;
  };
}

test('a transaction that cannot be serialized is run again', async () => {
  await using test = await testDatabase();
  await run(test.db, sql`create table account (name text, balance int)`);
  await run(test.db, sql`insert into account values ('a', 100), ('b', 100)`);
  const meet = meetingOfTwo();
  let attempts = 0;
  // Write skew: each sees 200 in all and takes 150 from its own account; one after the other only one may.
  const withdraw = (name: string) =>
    test.db.inTransaction(
      async (tx) => {
        attempts += 1;
        const { rows } = await sql<{
          sum: number;
        }>`select sum(balance)::int as sum from account where ${true}::bool`.execute(tx);
        await meet();
        if ((rows[0]?.sum ?? 0) >= 150)
          await sql`update account set balance = balance - 150 where name = ${name}`.execute(tx);
      },
      { isolation: 'serializable' },
    );
  await Promise.all([withdraw('a'), withdraw('b')]);
  expect(await value(test.db, sql<{ value: number }>`select sum(balance) as value from account`)).toBe(50);
  expect(attempts).toBe(3);
});

test('a transaction that was chosen to end a deadlock is run again', async () => {
  await using test = await testDatabase();
  await run(test.db, sql`create table counter (id int, n int)`);
  await run(test.db, sql`insert into counter values (1, 0), (2, 0)`);
  await run(test.db, sql.raw(`alter database ${new URL(test.url).pathname.slice(1)} set deadlock_timeout = '20ms'`));
  await using fresh = openDatabase({ url: test.url });
  const meet = meetingOfTwo();
  const add = (tx: Tx, id: number) => sql`update counter set n = n + 1 where id = ${id}`.execute(tx);
  const both = (first: number, second: number) =>
    fresh.inTransaction(async (tx) => {
      await add(tx, first);
      await meet();
      await add(tx, second);
    });
  await Promise.all([both(1, 2), both(2, 1)]);
  expect(await value(fresh, sql<{ value: number }>`select sum(n) as value from counter`)).toBe(4);
});

test('other refusals end a transaction at once, and leave nothing', async () => {
  await using test = await testDatabase();
  await run(test.db, sql`create table thing (id int primary key)`);
  let attempts = 0;
  const twice = test.db.inTransaction(async (tx) => {
    attempts += 1;
    await sql`insert into thing values (1)`.execute(tx);
    await sql`insert into thing values (1)`.execute(tx);
  });
  await expect(twice).rejects.toMatchObject({ constraint: 'thing_pkey' });
  expect(attempts).toBe(1);
  expect(await value(test.db, sql<{ value: number }>`select count(*) as value from thing`)).toBe(0);
});

test('a listener hears its channels, and says when it has been deaf', async () => {
  await using test = await testDatabase();
  const heard: string[] = [];
  await using listener = test.db.listen(
    { due: (payload) => heard.push(`due ${payload}`), 'Odd "one"': () => heard.push('odd') },
    { onListening: () => heard.push('listening'), onLost: () => heard.push('lost') },
  );
  await eventually('it listens', () => listener.isListening);
  await run(test.db, sql`select pg_notify('due', 'crls'), pg_notify('Odd "one"', null), pg_notify('other', 'x')`);
  await eventually('it has heard', () => heard.length === 3);
  await run(
    test.db,
    sql`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%'`,
  );
  await eventually('it listens again', () => heard.length === 5);
  await run(test.db, sql`select pg_notify('due', 'again')`);
  await eventually('it has heard again', () => heard.length === 6);
  expect(heard).toEqual(['listening', 'due crls', 'odd', 'lost', 'listening', 'due again']);
});

test('a server that accepts and says nothing is told from one that answers', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  await using database = openDatabase({ url: `postgres://127.0.0.1:${port}/x`, connectTimeoutMs: 500 });
  await expect(database.ping(50)).rejects.toThrow(`Postgres at 127.0.0.1:${port} did not answer within 50 ms`);
  silent.close();
});

test('the difference of the clocks is measured', async () => {
  await using test = await testDatabase();
  const slow = { now: () => new Date(Date.now() - 3_600_000) };
  expect(Math.round((await test.db.clockOffsetMs(slow)) / 60_000)).toBe(60);
});

test('closing lets running statements finish and refuses new ones', async () => {
  await using test = await testDatabase();
  const running = value(test.db, sql<{ value: string }>`select 'finished' as value from pg_sleep(1)`);
  const onSharedConnection = statement<{ value: string }>`select 'finished' as value from pg_sleep(1)`.execute(
    quickly(test.db.db),
  );
  await using watcher = openDatabase({ url: test.url });
  const active = sql<{
    value: number;
  }>`select count(*) as value from pg_stat_activity where query like '%pg_sleep(1)%' and state = 'active' and pid <> pg_backend_pid()`;
  await eventually('both run', async () => (await value(watcher, active)) === 2);
  await test.db.close();
  expect(await running).toBe('finished');
  expect((await onSharedConnection).rows).toEqual([{ value: 'finished' }]);
  await expect(test.db.ping()).rejects.toBeInstanceOf(DatabaseUnavailable);
});

test('writes that wait for no disk share a connection, and one that waits for a lock holds up none that come later', async () => {
  await using test = await testDatabase();
  await run(test.db, sql`create table thing (id int primary key, backend int)`);
  await run(test.db, sql`insert into thing values (1), (2), (3)`);
  const touch = (id: number) =>
    statement<{ backend: number }>`update thing set backend = pg_backend_pid() where id = ${id} returning backend`
      .execute(quickly(test.db.db))
      .then(({ rows }) => rows[0]?.backend);
  const shared = await touch(1);
  expect(await touch(2)).toBe(shared);

  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = test.db.inTransaction(async (tx) => {
    await sql`select from thing where id = 1 for update`.execute(tx);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const waiting = touch(1);
  let other = shared;
  // Those who come while it may still be quick wait behind it.
  await eventually('one is answered beside it', async () => {
    other = await Promise.race([touch(3), pause(50, shared)]);
    return other !== shared;
  });
  release.resolve();
  await holding;
  expect(await waiting).toBe(shared);
});
