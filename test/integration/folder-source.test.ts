// A folder of manifests as a source of declared objects: what appears, changes, breaks and goes.
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { folderOutputs } from '../../src/folder/folder-outputs.ts';
import { FolderSource } from '../../src/folder/folder-source.ts';
import { openStatusFiles } from '../../src/folder/status-files.ts';
import type { Change } from '../../src/operator/ports.ts';
import type { KindName, Resource } from '../../src/resources/resource.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';
import { testClock } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';

const NAMESPACE = 'acmery-system';
const unsignalled = new AbortController().signal;

const aDirectory = (name: string, spec = '', metadata = '') => `apiVersion: acmery.io/v1
kind: Directory
metadata: {name: ${name}${metadata}}
spec:
  signingCertRef: {name: issuing}
${spec}`;

async function aFolder(files: Readonly<Record<string, string>> = {}) {
  const place = await mkdtemp(join(tmpdir(), 'acmery-folder-'));
  const folder = join(place, 'manifests');
  await mkdir(folder);
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  return {
    folder,
    write,
    data: join(place, 'data'),
    remove: (path: string) => rm(join(folder, path)),
    [Symbol.asyncDispose]: () => rm(place, { recursive: true, force: true }),
  };
}

/** Follows a folder, as one process does. */
async function follow({ folder, data }: { readonly folder: string; readonly data: string }) {
  const { log, lines } = capturedLog();
  const changes: Change[] = [];
  const woken: string[] = [];
  const outputs = folderOutputs(join(data, 'outputs'));
  const statusFiles = await openStatusFiles([join(folder, '.status'), join(data, 'status')]);
  const events = createEvents(log, createMetrics());
  const source = new FolderSource({ folder, statusFiles, outputs, namespace: NAMESPACE, clock: testClock(), events });
  source.follow({
    changed: (change) => changes.push(change),
    namespaceChanged: (namespace) => woken.push(namespace),
  });
  await source.synced(AbortSignal.timeout(10_000));
  const get = (name: string, kind: KindName = 'Directory', namespace = NAMESPACE) =>
    source.get({ kind, namespace, name });
  const need = (name: string): Resource => {
    const found = get(name);
    if (found === undefined) throw new Error(`There is no Directory ${name}.`);
    return found;
  };
  return {
    source,
    outputs,
    changes,
    woken,
    lines,
    get,
    need,
    told: (text: string) => eventually(`the log says: ${text}`, () => lines.join('').includes(text)),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

test('what lies in the folder is there, with defaults, uid and generation', async () => {
  await using files = await aFolder({
    'a.yaml': aDirectory('web'),
    'below/b.yml': aDirectory('mail', '', ', namespace: post'),
  });
  await using folder = await follow(files);
  expect(folder.source.list('Directory')).toHaveLength(2);
  expect(folder.get('mail', 'Directory', 'post')).toBeDefined();
  expect(folder.need('web')).toMatchObject({
    metadata: { namespace: NAMESPACE, generation: 1, uid: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    spec: { certMaxDays: 97 },
    status: { observedGeneration: -1 },
  });
});

test('a change of the spec is a new generation, one of annotations is not, and an equal text is nothing', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web') });
  await using folder = await follow(files);
  const { uid } = folder.need('web').metadata;
  await files.write('a.yaml', aDirectory('web', '  certMaxDays: 30'));
  await eventually('the generation is 2', () => folder.need('web').metadata.generation === 2);
  expect(folder.need('web')).toMatchObject({ metadata: { uid }, spec: { certMaxDays: 30 } });
  await files.write('a.yaml', aDirectory('web', '  certMaxDays: 30', ', annotations: {acmery.io/paused: "true"}'));
  await eventually('it is annotated', () => folder.need('web').metadata.annotations !== undefined);
  expect(folder.need('web').metadata.generation).toBe(2);
  const before = folder.changes.length;
  await files.write(
    'a.yaml',
    `# the same\n${aDirectory('web', '  certMaxDays: 30', ', annotations: {acmery.io/paused: "true"}')}`,
  );
  await files.write('b.yaml', aDirectory('other'));
  await eventually('the other one is there', () => folder.get('other') !== undefined);
  expect(folder.changes).toHaveLength(before + 1);
});

test('uid, generation, finalizer and status survive a restart, in a file that people can read', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web') });
  let uid: string | undefined;
  {
    await using folder = await follow(files);
    await folder.source.setFinalizer(folder.need('web'), true);
    await folder.source.writeStatus(folder.need('web'), { observedGeneration: 1, id: 'dir_1' });
    ({ uid } = folder.need('web').metadata);
  }
  expect(await readFile(join(files.folder, '.status', 'directory.acmery-system.web.yaml'), 'utf8')).toContain(
    'id: dir_1',
  );
  await using again = await follow(files);
  expect(again.need('web')).toMatchObject({
    metadata: { uid, generation: 1, finalizers: ['acmery.io/finalizer'] },
    status: { observedGeneration: 1, id: 'dir_1' },
  });
});

test('an object with the longest of names has its status, and holds up no other', async () => {
  const long = 'n'.repeat(253);
  await using files = await aFolder({ 'long.yaml': aDirectory(long), 'web.yaml': aDirectory('web') });
  let uid: string;
  {
    await using one = await follow(files);
    ({ uid } = one.need(long).metadata);
    expect(one.get('web')).toBeDefined();
  }
  await using again = await follow(files);
  expect(again.need(long).metadata.uid).toBe(uid);
});

test.each(['../../elsewhere', '..', 'Web', ''])('a status file of namespace %j is none', async (namespace) => {
  await using files = await aFolder({ 'web.yaml': aDirectory('web') });
  const metadata = `{namespace: "${namespace}", name: web, uid: u, generation: 1}`;
  const text = `apiVersion: acmery.io/v1\nkind: Directory\nmetadata: ${metadata}\nspec: {}\n`;
  await files.write('.status/directory.acmery-system.web.yaml', text);
  if (!namespace.includes('/')) await files.write(`.status/directory.${namespace}.web.yaml`, text);
  await using one = await follow(files);
  expect(one.changes.map(({ key }) => key.namespace)).toEqual([NAMESPACE]);
});

test('a document that goes is a deletion, which waits for the finalizer, also over a restart', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web'), 'b.yaml': aDirectory('plain') });
  {
    await using folder = await follow(files);
    await folder.source.setFinalizer(folder.need('web'), true);
    await files.remove('a.yaml');
    await files.remove('b.yaml');
    await eventually('it is being deleted', () => folder.need('web').metadata.deletionTimestamp !== undefined);
    await eventually('the other one is gone', () => folder.get('plain') === undefined);
  }
  await using again = await follow(files);
  expect(again.need('web').metadata.deletionTimestamp).toBeDefined();
  await again.outputs.apply(
    again.need('web'),
    { kind: 'ConfigMap', name: 'web-acme', data: { directory: 'x' } },
    unsignalled,
  );
  await again.source.setFinalizer(again.need('web'), false);
  expect(again.get('web')).toBeUndefined();
  expect(await readdir(join(files.data, 'outputs', NAMESPACE))).toEqual([]);
  expect(await readdir(join(files.folder, '.status'))).toEqual([]);
});

test('what is declared again while it is being deleted comes as another object when it is gone', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web') });
  await using folder = await follow(files);
  await folder.source.setFinalizer(folder.need('web'), true);
  const { uid } = folder.need('web').metadata;
  await files.remove('a.yaml');
  await eventually('it is being deleted', () => folder.need('web').metadata.deletionTimestamp !== undefined);
  await files.write('a.yaml', aDirectory('web', '  certMaxDays: 30'));
  await files.write('b.yaml', aDirectory('other'));
  await eventually('the other one is there', () => folder.get('other') !== undefined);
  await folder.source.setFinalizer(folder.need('web'), false);
  expect(folder.need('web')).toMatchObject({ metadata: { generation: 1 }, spec: { certMaxDays: 30 } });
  expect(folder.need('web').metadata.uid).not.toBe(uid);
});

test.each([
  ['is no YAML', 'kind: [', 'a.yaml:1: this is not YAML'],
  [
    'has a field that does not exist',
    aDirectory('web', '  certMaxDay: 3'),
    'a.yaml:6: Directory acmery-system/web: spec.certMaxDay: ',
  ],
])('a file that %s is told, and what it declared stays', async (_how, text, expected) => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web'), 'b.yaml': aDirectory('other') });
  await using folder = await follow(files);
  await files.write('a.yaml', text);
  await folder.told(expected);
  expect(folder.get('web')).toMatchObject({ metadata: { generation: 1 } });
  await files.remove('b.yaml');
  await files.write('a.yaml', aDirectory('web', '  certMaxDays: 30'));
  await eventually('both changes count', () => folder.need('web').metadata.generation === 2 && !folder.get('other'));
});

test('while a file cannot be read nothing is taken for deleted', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web'), 'b.yaml': aDirectory('other') });
  await using folder = await follow(files);
  await files.write('a.yaml', 'kind: [');
  await files.remove('b.yaml');
  await folder.told('this is not YAML');
  expect(folder.get('other')).toBeDefined();
  await files.remove('a.yaml');
  await eventually('now they are gone', () => folder.source.list('Directory').length === 0);
});

test('a folder that goes away deletes nothing', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web') });
  await using folder = await follow({ ...files, data: files.data });
  await rename(files.folder, `${files.folder}.away`);
  await folder.told('ENOENT');
  expect(folder.get('web')).toBeDefined();
  await rename(`${files.folder}.away`, files.folder);
});

test('a field that never changes is refused, as an API server does', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web', '  slug: web') });
  await using folder = await follow(files);
  await files.write('a.yaml', aDirectory('web', '  slug: other'));
  await folder.told('Directory acmery-system/web: spec.slug');
  expect(folder.need('web')).toMatchObject({ spec: { slug: 'web' }, metadata: { generation: 1 } });
});

test('one object in two files is told', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web'), 'b.yaml': aDirectory('web') });
  await using folder = await follow(files);
  expect(folder.lines.join('')).toContain(
    'b.yaml: Directory acmery-system/web: this object is declared in another file too',
  );
});

test('Secrets and labels of namespaces come from the folder too, and who may need them looks again', async () => {
  const secret = (value: string) => `apiVersion: v1
kind: Secret
metadata: {name: old-root, namespace: shop}
data: {tls.crt: ${Buffer.from('certificate').toString('base64')}}
stringData: {tls.key: ${value}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
`;
  await using files = await aFolder({ 's.yaml': secret('one') });
  await using folder = await follow(files);
  const read = async () => {
    const values = await folder.source.readSecret('shop', 'old-root');
    return values && Object.entries(values).map(([key, value]) => `${key}=${value}`);
  };
  expect(await read()).toEqual(['tls.crt=certificate', 'tls.key=one']);
  expect(folder.source.namespace('shop')?.labels).toEqual({ team: 'a', 'kubernetes.io/metadata.name': 'shop' });
  folder.woken.length = 0;
  await files.write('s.yaml', secret('two'));
  await eventually('the namespace is told', () => folder.woken.includes('shop'));
  expect(await read()).toEqual(['tls.crt=certificate', 'tls.key=two']);
  expect(await folder.source.readSecret('shop', 'absent')).toBeUndefined();
});

test('writes are for the object that was read', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web') });
  await using folder = await follow(files);
  const read = folder.need('web');
  await folder.source.writeStatus(read, { observedGeneration: 1 });
  await expect(folder.source.setFinalizer(read, true)).rejects.toMatchObject({ refusal: 'conflict' });
  const another = { ...read, metadata: { ...read.metadata, uid: 'another' } };
  await expect(folder.source.writeStatus(another, {})).rejects.toMatchObject({ refusal: 'gone' });
});

test('status of a folder that is read-only lies in the data folder', async () => {
  await using files = await aFolder({ 'a.yaml': aDirectory('web') });
  // A file in its place stops root, too.
  await writeFile(join(files.folder, '.status'), '');
  await chmod(files.folder, 0o555);
  await using _ = await follow(files);
  expect(await readdir(join(files.data, 'status'))).toEqual(['directory.acmery-system.web.yaml']);
  await chmod(files.folder, 0o755);
});
