// What is told of a database that goes away and comes back.
import { expect, test } from 'vitest';
import { DatabaseError, DatabaseUnavailable } from '../../../src/store/database-error.ts';
import { DatabaseWatch } from '../../../src/store/database-watch.ts';
import { createEvents } from '../../../src/telemetry/events.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { capturedLog } from '../../support/captured-log.ts';

function watching() {
  const { log, records } = capturedLog();
  const metrics = createMetrics();
  const watch = new DatabaseWatch(createEvents(log, metrics));
  return {
    answered: () => watch.observe(async () => 'answer'),
    failed: (error: Error) => watch.observe(() => Promise.reject(error)).catch((thrown: unknown) => thrown),
    messages: () => records().map(({ message }) => message),
    isUp: async () => /^acmery_database_up (\d)$/m.exec(await metrics.text())?.[1] === '1',
  };
}

const away = new DatabaseUnavailable('Postgres does not accept connections.');

test('a database that answers from the first time on is up, and no news', async () => {
  const { answered, messages, isUp } = watching();

  expect(await answered()).toBe('answer');

  expect(await isUp()).toBe(true);
  expect(messages()).toEqual([]);
});

test('a loss is told once and the recovery once, however often it is asked', async () => {
  const { answered, failed, messages, isUp } = watching();

  await failed(away);
  expect(await failed(away)).toBe(away);
  expect(await isUp()).toBe(false);
  await answered();
  await answered();

  expect(await isUp()).toBe(true);
  expect(messages()).toEqual(['the database does not answer; trying again with back-off', 'the database answers']);
});

test('a statement that the database refuses says nothing about its health', async () => {
  const { failed, messages } = watching();

  await failed(
    new DatabaseError('permission denied', {
      code: '42501',
      constraint: undefined,
      table: undefined,
      column: undefined,
    }),
  );

  expect(messages()).toEqual([]);
});
