// The wrap key and its check value: what a start makes, what it proves, and what it refuses.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CaError } from '../../src/core/errors.ts';
import { ensureWrapKey, openSecret, sealSecret } from '../../src/core/secret-box.ts';
import { openFileKeyStore } from '../../src/keys/file-key-store.ts';
import { readServiceState } from '../../src/store/service-state.ts';
import { testDatabase } from '../support/database.ts';

let folder: string;
let database: Awaited<ReturnType<typeof testDatabase>>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-wrap-'));
  database = await testDatabase();
});
afterEach(async () => {
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A process that starts on our database with the key store of this name. */
const processOn = async (name: string) => ({ database: database.db, keys: await openFileKeyStore(join(folder, name)) });
const secret = Buffer.from('a MAC key of thirty-two bytes...');

async function refusalOf(work: Promise<unknown>): Promise<CaError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CaError)) throw new Error('was not refused', { cause: error });
  return error;
}

test('the first start makes the key, a later one opens what was sealed', async () => {
  const first = await processOn('keys');
  await ensureWrapKey(first);
  const box = await sealSecret(first, 'row', secret);
  expect(box.includes(secret)).toBe(false);

  const second = await processOn('keys');
  await ensureWrapKey(second);
  expect(await openSecret(second, 'row', box)).toEqual(secret);
});

test('a box opens in its own row alone', async () => {
  const started = await processOn('keys');
  await ensureWrapKey(started);
  const box = await sealSecret(started, 'row', secret);
  await expect(openSecret(started, 'another row', box)).rejects.toThrow();
});

test('starts at the same time agree on one key', async () => {
  const starts = await Promise.all(Array.from({ length: 8 }, () => processOn('keys')));
  await Promise.all(starts.map(ensureWrapKey));
  const [box] = await Promise.all(starts.map((started) => sealSecret(started, 'row', secret)));
  for (const started of starts) expect(await openSecret(started, 'row', box ?? Buffer.alloc(0))).toEqual(secret);
});

test('of two starts with different key stores on a new database one is refused', async () => {
  const starts = await Promise.all(['one', 'other'].map(processOn));
  const outcomes = await Promise.allSettled(starts.map(ensureWrapKey));
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('a lost key ends the start and is not made anew', async () => {
  await ensureWrapKey(await processOn('keys'));
  await rm(join(folder, 'keys'), { recursive: true });
  const refusal = await refusalOf(ensureWrapKey(await processOn('keys')));
  expect(refusal).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('Restore') });
  expect(await readdir(join(folder, 'keys'))).toEqual([]);
});

test('a key of another database ends the start, and the check value stays', async () => {
  await ensureWrapKey(await processOn('keys'));
  const check = await readServiceState(database.db.db, 'wrap_key_check');
  const other = await processOn('other');
  await other.keys.createSealer('wrap');
  expect(await refusalOf(ensureWrapKey(other))).toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('backups that belong together'),
  });
  expect(await readServiceState(database.db.db, 'wrap_key_check')).toEqual(check);
});

test('a new database takes the key that is there', async () => {
  const started = await processOn('keys');
  const box = (await started.keys.createSealer('wrap')).seal(secret, 'row');
  await ensureWrapKey(started);
  expect(await openSecret(started, 'row', box)).toEqual(secret);
});
