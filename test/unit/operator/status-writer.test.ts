// A status is written once, however late the copy in memory shows it.
import { expect, test } from 'vitest';
import type { ResourceSource } from '../../../src/operator/ports.ts';
import { StatusWriter } from '../../../src/operator/status-writer.ts';
import type { Resource } from '../../../src/resources/resource.ts';

const never = new AbortController().signal;
const written = { observedGeneration: 1, text: 'new' };

const anObject = (resourceVersion: string, status: object = { observedGeneration: -1 }): Resource => ({
  apiVersion: 'acmery.io/v1',
  kind: 'Directory',
  metadata: { namespace: 'pki', name: 'web', uid: 'u', generation: 1, resourceVersion, creationTimestamp: '' },
  spec: {},
  status: { observedGeneration: -1, ...status },
});

/** `copy` is what the source shows. */
function aWriter(copy: Resource) {
  const writes: string[] = [];
  const state = { copy };
  const source = {
    get: () => state.copy,
    writeStatus: async ({ metadata }: Resource) => void writes.push(metadata.resourceVersion),
  };
  return { state, writes, writer: new StatusWriter(source as unknown as ResourceSource) };
}

test.each([
  ['as it was visited', '1'],
  ['with the finalizer that the visit has put there', '2'],
])('a second visit that finds the copy %s writes nothing', async (_how, version) => {
  const { state, writes, writer } = aWriter(anObject('1'));
  await writer.write('web', { seen: anObject('1'), resource: anObject('2') }, written, never);
  state.copy = anObject(version);
  const seen = writer.current('web', state.copy);
  expect(seen.status).toEqual(written);
  await writer.write('web', { seen, resource: seen }, written, never);
  expect(writes).toEqual(['2']);
});

test('what others have written since is what counts', async () => {
  const { writes, writer } = aWriter(anObject('1'));
  await writer.write('web', { seen: anObject('1'), resource: anObject('1') }, written, never);
  const later = anObject('3', { observedGeneration: 1, text: 'theirs' });
  expect(writer.current('web', later)).toBe(later);
  await writer.write('web', { seen: later, resource: later }, written, never);
  expect(writes).toEqual(['1', '3']);
});

test('an object that others changed while it was visited still has what was written', async () => {
  const { state, writes, writer } = aWriter(anObject('1'));
  state.copy = anObject('2');
  await writer.write('web', { seen: anObject('1'), resource: anObject('1') }, written, never);
  expect(writer.current('web', state.copy).status).toEqual(written);
  const seen = writer.current('web', state.copy);
  await writer.write('web', { seen, resource: seen }, written, never);
  expect(writes).toEqual(['1']);
});

test('what the copy has shown, also before the answer of the write, is not kept', async () => {
  const { state, writer } = aWriter(anObject('1'));
  await writer.write('web', { seen: anObject('1'), resource: anObject('1') }, written, never);
  writer.shown('web', anObject('2', written));
  expect(writer.current('web', anObject('1')).status).toEqual({ observedGeneration: -1 });
  state.copy = anObject('2', written);
  await writer.write('web', { seen: anObject('1'), resource: anObject('1') }, written, never);
  expect(writer.current('web', anObject('1')).status).toEqual({ observedGeneration: -1 });
});
