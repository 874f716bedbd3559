// What is made for objects of a folder: whole, private, and never over what is not ours.
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderOutputs } from '../../src/folder/folder-outputs.ts';
import type { Resource } from '../../src/resources/resource.ts';

const { signal } = new AbortController();

const owner = (name: string): Resource => ({
  apiVersion: 'acmery.io/v1',
  kind: 'ExternalBinding',
  metadata: { namespace: 'shop', name, uid: name, generation: 1, resourceVersion: '1', creationTimestamp: '' },
  spec: {},
});
const secret = (data: Readonly<Record<string, string>>) => ({ kind: 'Secret', name: 'shop-eab', data }) as const;

async function someOutputs() {
  const folder = await mkdtemp(join(tmpdir(), 'acmery-outputs-'));
  return {
    outputs: folderOutputs(folder),
    place: join(folder, 'shop', 'shop-eab'),
    namespace: join(folder, 'shop'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

test('values are files of their own that only we can read, and nothing else lies there', async () => {
  await using some = await someOutputs();
  const { outputs, place } = some;
  expect(await outputs.apply(owner('shop'), secret({ kid: 'shop', secret: 's' }), signal)).toBe('created');
  expect((await readdir(place)).sort()).toEqual(['.owner', 'kid', 'secret']);
  expect(await readFile(join(place, 'secret'), 'utf8')).toBe('s');
  expect((await stat(join(place, 'secret'))).mode & 0o777).toBe(0o600);
  expect((await stat(place)).mode & 0o777).toBe(0o700);
  expect(await readdir(some.namespace)).toEqual(['shop-eab']);
});

test('what is equal is left alone, and what differs is mended', async () => {
  await using some = await someOutputs();
  const { outputs, place } = some;
  await outputs.apply(owner('shop'), secret({ kid: 'shop', old: 'o' }), signal);
  expect(await outputs.apply(owner('shop'), secret({ kid: 'shop', old: 'o' }), signal)).toBe('unchanged');
  await writeFile(join(place, 'kid'), 'spoilt');
  expect(await outputs.apply(owner('shop'), secret({ kid: 'shop' }), signal)).toBe('corrected');
  expect(await outputs.read(owner('shop'), secret({}), signal)).toEqual({ kid: 'shop' });
});

test('made once stays as it is', async () => {
  await using some = await someOutputs();
  const { outputs } = some;
  expect(await outputs.createOnce(owner('shop'), secret({ 'tls.key': 'one' }), signal)).toEqual({ 'tls.key': 'one' });
  expect(await outputs.createOnce(owner('shop'), secret({ 'tls.key': 'two' }), signal)).toEqual({ 'tls.key': 'one' });
});

test('what is retained outlives its owner, and is that of the next of its name', async () => {
  await using some = await someOutputs();
  const { outputs, place } = some;
  await outputs.apply(owner('shop'), secret({ 'tls.key': 'k' }), signal);
  await outputs.retain(owner('shop'), secret({}), signal);
  await outputs.collect(owner('shop'));
  expect(await readFile(join(place, 'tls.key'), 'utf8')).toBe('k');
  await expect(outputs.read(owner('other'), secret({}), signal)).rejects.toMatchObject({ refusal: 'foreign' });
  expect(await outputs.apply(owner('shop'), secret({ 'tls.key': 'k' }), signal)).toBe('corrected');
  await outputs.collect(owner('shop'));
  expect(await outputs.read(owner('shop'), secret({}), signal)).toBeUndefined();
});

test.each(['another object', 'nobody that we know'])('what belongs to %s is not touched', async (whose) => {
  await using some = await someOutputs();
  const { outputs, place } = some;
  if (whose === 'another object') await outputs.apply(owner('other'), secret({ kid: 'theirs' }), signal);
  else {
    await mkdir(place, { recursive: true });
    await writeFile(join(place, 'kid'), 'theirs');
  }
  for (const work of [
    () => outputs.apply(owner('shop'), secret({ kid: 'ours' }), signal),
    () => outputs.createOnce(owner('shop'), secret({ kid: 'ours' }), signal),
    () => outputs.remove(owner('shop'), secret({}), signal),
  ]) {
    await expect(work()).rejects.toMatchObject({ refusal: 'foreign' });
  }
  expect(await readFile(join(place, 'kid'), 'utf8')).toBe('theirs');
});

test('what is left of an object goes with it, and that of others stays', async () => {
  await using some = await someOutputs();
  const { outputs, namespace } = some;
  await outputs.apply(owner('shop'), secret({ kid: 'a' }), signal);
  await outputs.apply(owner('other'), { ...secret({ kid: 'b' }), name: 'other-eab' }, signal);
  await outputs.collect(owner('shop'));
  expect(await readdir(namespace)).toEqual(['other-eab']);
  await outputs.remove(owner('other'), { kind: 'Secret', name: 'other-eab' }, signal);
  expect(await readdir(namespace)).toEqual([]);
  expect(await outputs.read(owner('other'), { kind: 'Secret', name: 'other-eab' }, signal)).toBeUndefined();
});
