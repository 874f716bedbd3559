import type pg from 'pg';
import { expect, test } from 'vitest';
import { connectError, DatabaseUnavailable, statementError } from '../../../src/store/database-error.ts';
import { QuickWrites } from '../../../src/store/quick-writes.ts';
import { UnderWay } from '../../../src/store/under-way.ts';

/** Two ways to send on, and a clock that the test moves; what is under way on the shared one is answered by the test. */
function aWriter() {
  const clock = { nowMs: 0 };
  const shared: { readonly text: string; readonly answer: PromiseWithResolvers<pg.QueryResult> }[] = [];
  const pool: string[] = [];
  const underWay = new UnderWay(() => clock.nowMs);
  const writes = new QuickWrites(
    {
      underWay,
      query: (text) => {
        const answer = Promise.withResolvers<pg.QueryResult>();
        shared.push({ text, answer });
        return underWay.follow(() => answer.promise);
      },
    },
    {
      query: async (text) => {
        pool.push(text);
        return {} as pg.QueryResult;
      },
    },
    () => clock.nowMs,
  );
  const send = (text: string): Promise<unknown> => writes.query(text, []);
  return { clock, shared, pool, send, texts: () => shared.map(({ text }) => text) };
}

test('writes go behind one another', async () => {
  const { shared, send, texts, pool } = aWriter();
  const sent = ['a', 'b', 'c'].map(send);
  for (const { answer } of shared) answer.resolve({} as pg.QueryResult);
  await Promise.all(sent);
  expect([texts(), pool]).toEqual([['a', 'b', 'c'], []]);
});

test('nobody is sent behind one that takes long, until it and those behind it are answered', async () => {
  const { clock, shared, send, texts, pool } = aWriter();
  const first = send('a');
  clock.nowMs += 50;
  const second = send('b');
  clock.nowMs += 1;
  await send('c');
  expect([texts(), pool]).toEqual([['a', 'b'], ['c']]);

  shared[0]?.answer.resolve({} as pg.QueryResult);
  await first;
  clock.nowMs += 49;
  void send('d');
  expect([texts(), pool]).toEqual([['a', 'b', 'd'], ['c']]);
  clock.nowMs += 1;
  await send('e');
  expect([texts(), pool]).toEqual([
    ['a', 'b', 'd'],
    ['c', 'e'],
  ]);
  shared[1]?.answer.reject(new Error('lock timeout'));
  await expect(second).rejects.toThrow('lock timeout');
  void send('f');
  expect(texts()).toEqual(['a', 'b', 'd', 'f']);
});

test('many that each take a little hold nobody up for longer than one may', async () => {
  const { clock, shared, send, pool } = aWriter();
  const waiting = Array.from({ length: 20 }, (_, index) => send(`${index}`));
  for (const { answer } of shared.slice(0, 3)) {
    clock.nowMs += 20;
    answer.resolve({} as pg.QueryResult);
  }
  await Promise.all(waiting.slice(0, 3));
  await send('other');
  expect(pool).toEqual(['other']);
});

test('what could not be sent, since no connection was to be had, goes to the pool', async () => {
  const { shared, send, texts, pool } = aWriter();
  const sent = ['a', 'b'].map(send);
  for (const { answer } of shared) answer.reject(connectError(new Error('too many clients already'), 'db:5432'));
  await Promise.all(sent);
  expect([texts(), pool]).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
});

test('for a second nobody tries again for a connection that was not to be had', async () => {
  const { clock, shared, send, texts, pool } = aWriter();
  const first = send('a');
  shared[0]?.answer.reject(connectError(new Error('too many clients already'), 'db:5432'));
  await first;
  clock.nowMs += 999;
  await send('b');
  expect(pool).toEqual(['a', 'b']);
  clock.nowMs += 1;
  void send('c');
  expect(texts()).toEqual(['a', 'c']);
});

test('what may have been sent is not sent again', async () => {
  const { shared, send, pool } = aWriter();
  const sent = send('a');
  shared[0]?.answer.reject(statementError(new Error('Connection terminated unexpectedly')));
  await expect(sent).rejects.toThrow(DatabaseUnavailable);
  expect(pool).toEqual([]);
});

test('a pause holds nobody up', async () => {
  const { clock, shared, send, texts } = aWriter();
  const first = send('a');
  shared[0]?.answer.resolve({} as pg.QueryResult);
  await first;
  clock.nowMs += 60_000;
  void send('b');
  void send('c');
  expect(texts()).toEqual(['a', 'b', 'c']);
});
