import { expect, test } from 'vitest';
import { DatabaseUnavailable } from '../../../src/store/database-error.ts';
import { type NamedClient, namedClient } from '../../../src/store/named-client.ts';
import { SharedConnection } from '../../../src/store/shared-connection.ts';

const Client = namedClient(() => false, false);

/** Clients that are never connected: what is lost is said by the test. */
function opening() {
  const clients: NamedClient[] = [];
  const shared = new SharedConnection(async () => {
    const client = new Client();
    clients.push(client);
    return client;
  }, 1_000);
  return { clients, shared };
}

test('all share one client until it is lost', async () => {
  const { clients, shared } = opening();
  await Promise.all([shared.connect(), shared.connect()]);
  expect(clients).toHaveLength(1);
  clients[0]?.emit('error', new Error('terminating connection due to administrator command'));
  await Promise.all([shared.connect(), shared.connect()]);
  expect(clients).toHaveLength(2);
});

test('a client that was told to end is given to nobody', async () => {
  const { clients, shared } = opening();
  await shared.connect();
  await clients[0]?.end();
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
  const answers = [Promise.reject(new Error('away')), Promise.resolve(new Client())];
  const shared = new SharedConnection(() => answers.shift() ?? Promise.resolve(new Client()), 1_000);
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

test('a client that is opened while it is ended is ended, too, and given to nobody', async () => {
  const client = new Client();
  const opened = Promise.withResolvers<NamedClient>();
  const shared = new SharedConnection(() => opened.promise, 1_000);
  const asked = shared.connect();
  const ended = shared.end();
  opened.resolve(client);
  await expect(asked).rejects.toThrow(DatabaseUnavailable);
  await ended;
  expect(client.isOver).toBe(true);
});
