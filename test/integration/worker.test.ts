// The worker on a real database: keys of deleted CA certs go, a dead worker's work is taken up, two never do the same.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runAlone } from '../../src/core/alone.ts';
import type { Ca } from '../../src/core/ca.ts';
import { createSigningCert } from '../../src/core/create-signing-cert.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { CaError } from '../../src/core/errors.ts';
import type { KeyStore } from '../../src/core/ports.ts';
import { claimRemovedKeys, postponeKeyRemoval, removeKey } from '../../src/core/removed-keys.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { eventually } from '../support/eventually.ts';
import { admin, type GivenCa, givenCa } from '../support/given.ts';
import { givenRoot } from '../support/given-signing-cert.ts';

const MINUTE_MS = 60_000;
const RUN_WORKER = join(import.meta.dirname, '..', 'support', 'run-worker.ts');
let given: GivenCa;
beforeEach(async () => {
  given = await givenCa();
});
afterEach(() => given[Symbol.asyncDispose]());

/** The CA of another process: the same database and keys, with some functions of the key store replaced. */
const caWith = (changes: Partial<KeyStore>): Ca => ({ ...given.ca, keys: { ...given.ca.keys, ...changes } });
/** Of CA certs: the worker makes keys for OCSP beside them. */
const keys = async () => {
  const certs = new Set(
    (await given.ca.database.db.selectFrom('signing_certs').select('id').execute()).map(({ id }) => id),
  );
  return (await given.ca.keys.list()).map(({ ref }) => ref).filter((ref) => certs.has(ref));
};
const rowOf = async (id: string) =>
  given.ca.database.db
    .selectFrom('signing_certs')
    .select(['key_ref', 'key_due_at', 'key_lease_until', 'key_attempts'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
const deleted = async (): Promise<string> => {
  const { id } = await givenRoot(given.ca);
  await deleteSigningCert(given.ca, admin, id);
  return id;
};
const keyIsGone = (id: string) => eventually('the key is gone', async () => (await rowOf(id)).key_ref === null);

test('the key of a deleted CA cert is removed, and no other', async () => {
  await using _ = startWorker(given.ca);
  const kept = await givenRoot(given.ca);
  const id = await deleted();
  await keyIsGone(id);
  expect(await keys()).toEqual([kept.id]);
  expect(await rowOf(id)).toMatchObject({ key_ref: null, key_due_at: null, key_lease_until: null });
  expect(given.logLines.join('')).toContain('key of a deleted CA cert removed');
});

test('what became due while no worker ran is found by the next', async () => {
  const ids = [await deleted(), await deleted(), await deleted()];
  await using _ = startWorker(given.ca);
  for (const id of ids) await keyIsGone(id);
  expect(await keys()).toEqual([]);
});

test('two workers share the work: every key is removed once', async () => {
  const ids: string[] = [];
  for (let count = 0; count < 12; count++) ids.push(await deleted());
  const removed: string[] = [];
  const noting = caWith({
    remove: (ref) => {
      removed.push(ref);
      return given.ca.keys.remove(ref);
    },
  });
  await using _one = startWorker(noting);
  await using _other = startWorker(noting);
  for (const id of ids) await keyIsGone(id);
  expect(removed.sort()).toEqual(ids.sort());
});

test('what a killed worker had begun is done by another, once its lease has ended', async () => {
  const id = await deleted();
  const now = given.ca.clock.now().getTime();
  const child = spawn(process.execPath, [RUN_WORKER, given.databaseUrl, new Date(now).toISOString()], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(child.stdout, 'data');
  expect(String(said).trim()).toBe(id);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const leased = await rowOf(id);
  expect(leased).toMatchObject({ key_ref: id, key_attempts: 1, key_lease_until: new Date(now + MINUTE_MS) });

  await using _ = startWorker(given.ca);
  await keyIsGone(await deleted());
  expect(await rowOf(id)).toEqual(leased);
  given.ca.clock.advance(MINUTE_MS);
  await keyIsGone(id);
  expect(await rowOf(id)).toMatchObject({ key_attempts: 2, key_lease_until: null });
  expect(await keys()).toEqual([]);
});

test('who lost the lease changes nothing any more', async () => {
  const id = await deleted();
  const [slow] = await claimRemovedKeys(given.ca, 1, MINUTE_MS);
  expect(await claimRemovedKeys(given.ca, 1, MINUTE_MS)).toEqual([]);
  given.ca.clock.advance(MINUTE_MS);
  const [fast] = await claimRemovedKeys(given.ca, 1, MINUTE_MS);
  const taken = await rowOf(id);
  await removeKey(given.ca, slow ?? expect.fail('nothing was claimed'));
  await postponeKeyRemoval(given.ca, slow ?? expect.fail(), new Date(0));
  expect(await rowOf(id)).toEqual(taken);
  await removeKey(given.ca, fast ?? expect.fail('nothing was claimed'));
  expect(await rowOf(id)).toMatchObject({ key_ref: null, key_due_at: null });
});

test('what fails is tried again, later each time, and other rows meanwhile', async () => {
  const failing = await deleted();
  let isAway = true;
  await using _ = startWorker(
    caWith({
      remove: (ref) =>
        ref === failing && isAway
          ? Promise.reject(new CaError('unavailable', 'The key store is away.'))
          : given.ca.keys.remove(ref),
    }),
  );
  const dueInMs = async () => Number((await rowOf(failing)).key_due_at) - given.ca.clock.now().getTime();
  for (const waitMs of [1_000, 2_000, 4_000]) {
    await eventually('it is given back', async () => (await dueInMs()) === waitMs);
    expect(await rowOf(failing)).toMatchObject({ key_ref: failing, key_lease_until: null });
    await keyIsGone(await deleted());
    given.ca.clock.advance(waitMs);
  }
  isAway = false;
  given.ca.clock.advance(8_000);
  await keyIsGone(failing);
  expect(await keys()).toEqual([]);
});

test('stopping waits for what runs, and takes nothing new', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const first = await deleted();
  const worker = startWorker(
    caWith({
      remove: async (ref) => {
        begin();
        await released;
        await given.ca.keys.remove(ref);
      },
    }),
  );
  await begun;
  const stopped = worker[Symbol.asyncDispose]();
  const later = await deleted();
  release();
  await stopped;
  expect(await rowOf(first)).toMatchObject({ key_ref: null });
  expect(await rowOf(later)).toMatchObject({ key_ref: later, key_attempts: 0 });
});

test('it finishes CA certs that were left in the making, and makes the partitions of the audit log', async () => {
  const { promise: stored, resolve: reached } = Promise.withResolvers<string>();
  void createSigningCert(
    caWith({
      createOnce: async (ref, material) => {
        await given.ca.keys.createOnce(ref, material);
        reached(ref);
        return new Promise<never>(() => {});
      },
    }),
    admin,
    { cert_type: 'root', key_availability: 'online', private_key_type: 'ec_256', name: 'Corp Root' },
  );
  const id = await stored;
  given.ca.clock.advance(11 * MINUTE_MS);
  await using _ = startWorker(given.ca);
  const { db } = given.ca.database;
  await eventually('it is active', async () => {
    const row = await db.selectFrom('signing_certs').select('state').where('id', '=', id).executeTakeFirst();
    return row?.state === 'active';
  });
  await eventually('the partitions are there', async () => {
    const tables = await db.introspection.getTables();
    return tables.filter(({ name }) => /^audit_2026_0[567]$/.test(name)).length === 3;
  });
});

test('a duty is done by one replica at a time, and by the next when that is done or has failed', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: isHeld, resolve: held } = Promise.withResolvers<void>();
  const done: string[] = [];
  const duty = (name: string, until: Promise<void>) =>
    runAlone(given.ca, 'some duty', async () => {
      held();
      await until;
      done.push(name);
    });
  const first = duty('first', released);
  await isHeld;
  expect(await duty('second', Promise.resolve())).toBe(false);
  await runAlone(given.ca, 'another duty', async () => void done.push('other'));
  release();
  expect(await first).toBe(true);
  expect(done).toEqual(['other', 'first']);
  await expect(runAlone(given.ca, 'some duty', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  await duty('third', Promise.resolve());
  expect(done).toEqual(['other', 'first', 'third']);
});
