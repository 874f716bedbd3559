import pg from 'pg';
import { expect, test } from 'vitest';
import { DatabaseUnavailable } from '../../../src/store/database-error.ts';
import { SharedConnection } from '../../../src/store/shared-connection.ts';

/** Clients that are never connected: what is lost is said by the test. */
function opening() {
  const clients: pg.Client[] = [];
  const shared = new SharedConnection(async () => {
    const client = new pg.Client();
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  });
  return { clients, shared };
}

test('all share one client until it is lost', async () => {
  const { clients, shared } = opening();
  await Promise.all([shared.connect(), shared.connect()]);
  expect(clients).toHaveLength(1);
  clients[0]?.emit('end');
  await shared.connect();
  expect(clients).toHaveLength(2);
});

test('the end of a client that was lost before does not drop the one that has taken its place', async () => {
  const { clients, shared } = opening();
  await shared.connect();
  clients[0]?.emit('error', new Error('terminating connection due to administrator command'));
  await shared.connect();
  clients[0]?.emit('end');
  await shared.connect();
  expect(clients).toHaveLength(2);
});

test('a client that could not be opened is asked for again', async () => {
  const client = new pg.Client();
  const answers = [Promise.reject(new Error('away')), Promise.resolve(client)];
  const shared = new SharedConnection(() => answers.shift() ?? Promise.resolve(client));
  await expect(shared.connect()).rejects.toThrow('away');
  await shared.connect();
  expect(answers).toEqual([]);
});

test('once it is ended nobody opens it again', async () => {
  const { clients, shared } = opening();
  await shared.end();
  await expect(shared.connect()).rejects.toThrow(DatabaseUnavailable);
  expect(clients).toEqual([]);
});
