// A stranger on the port of our own Postgres: another user of this machine may be faster than its restart.
import { expect, test } from 'vitest';
import { localUrl } from '../../src/postgres/initialise.ts';
import { openDatabase } from '../../src/store/database.ts';
import { DatabaseUnavailable } from '../../src/store/database-error.ts';
import { fakePostgres, kindsOfFakePostgres } from '../support/fake-postgres.ts';

test.each(kindsOfFakePostgres)('that %s learns no password and is never asked anything', async (kind) => {
  await using stranger = await fakePostgres(kind);
  await using database = openDatabase({ url: localUrl(stranger.port, 'the-password-of-the-database') });

  const asked = database.ping(3_000);

  await expect(asked).rejects.toThrow(DatabaseUnavailable);
  await expect(asked).rejects.toThrow('did not prove that it knows the password');
  expect(stranger.received()).toBe('');
});

test('is refused by the connection for notifications too', async () => {
  await using stranger = await fakePostgres('lets everybody in');
  await using database = openDatabase({ url: localUrl(stranger.port, 'the-password-of-the-database') });
  let isListening = false;

  const listener = database.listen({ somewhere: () => undefined }, { onListening: () => (isListening = true) });
  await expect(database.ping(3_000)).rejects.toThrow('did not prove');
  await listener[Symbol.asyncDispose]();

  expect(isListening).toBe(false);
  expect(stranger.received()).toBe('');
});
