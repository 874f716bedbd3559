// Leadership by a lock of the database: one at a time, handed on when it is given up, lost with its session.
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { databaseLeadership } from '../../src/core/leadership.ts';
import { testCa } from '../support/ca.ts';
import { eventually } from '../support/eventually.ts';

type Ca = Awaited<ReturnType<typeof testCa>>['ca'];

/** A candidate that notes when it leads. */
function candidate(ca: Ca, log: string[], name: string) {
  const stopping = new AbortController();
  const ending = Promise.withResolvers<void>();
  const done = databaseLeadership(ca, 'folder').lead(async (leading) => {
    log.push(`${name} leads`);
    await new Promise((resolve) => leading.addEventListener('abort', resolve, { once: true }));
    await ending.promise;
    log.push(`${name} has ended`);
  }, stopping.signal);
  return {
    letEnd: () => ending.resolve(),
    stop: async () => {
      stopping.abort();
      ending.resolve();
      await done;
    },
    giveUp: () => stopping.abort(),
  };
}

test('one leads, and the next one only after its work has ended', async () => {
  await using one = await testCa();
  const log: string[] = [];
  const first = candidate(one.ca, log, 'first');
  await eventually('the first leads', () => log.length === 1);
  const second = candidate(one.ca, log, 'second');
  first.giveUp();
  await new Promise((resolve) => setImmediate(resolve));
  expect(log).toEqual(['first leads']);
  first.letEnd();
  await eventually('the second leads', () => log.includes('second leads'));
  expect(log).toEqual(['first leads', 'first has ended', 'second leads']);
  await Promise.all([first.stop(), second.stop()]);
});

test('whose session is lost leads no more, and comes back', async () => {
  await using one = await testCa();
  const { ca } = one;
  const log: string[] = [];
  const first = candidate(ca, log, 'first');
  await eventually('it leads', () => log.length === 1);
  await sql`
    select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`.execute(ca.database.db);
  first.letEnd();
  await eventually('it has ended and leads again', () => log.length === 3);
  expect(log).toEqual(['first leads', 'first has ended', 'first leads']);
  await first.stop();
});
