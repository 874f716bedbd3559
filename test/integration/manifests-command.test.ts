// `acmery manifests`: what it prints, and how it ends.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runAcmery } from '../support/acmery-process.ts';

const WEB = `apiVersion: acmery.io/v1
kind: Directory
metadata: {name: web, namespace: acmery-system}
spec: {signingCertRef: {name: corp}}
`;
const SECRET = 'apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n';

let folder: string;
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-manifests-'));
  await mkdir(at('good/deeper'), { recursive: true });
  await writeFile(at('good/all.yaml'), `${WEB}---\n${SECRET}`);
  await writeFile(at('good/deeper/b.yml'), WEB.replace('name: web', 'name: b'));
  await mkdir(at('good/.status'));
  await writeFile(at('good/.status/directory.acmery-system.web.yaml'), WEB);
  await writeFile(at('good/notes.txt'), 'not: [YAML');
  await writeFile(at('bad.yaml'), WEB.replace('{name: corp}', '{}'));
  await writeFile(at('broken.yaml'), 'a: [');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

// What is wrong with the settings does not matter here.
const env = { ACMERY_NO_SUCH_SETTING: '1' };
const check = (...names: string[]) => runAcmery(['manifests', 'check', ...names.map(at)], { env });

test('crds prints the definitions that lie in crds/, as one stream', async () => {
  const { code, stdout } = await runAcmery(['manifests', 'crds'], { env });
  const files = (await readdir('crds')).map((name) => readFile(join('crds', name), 'utf8'));
  const names = (documents: readonly unknown[]) =>
    documents.map((document) => (document as { metadata: { name: string } }).metadata.name).sort();
  const lying = (await Promise.all(files)).flatMap((text) => loadAll(text));
  expect(code).toBe(0);
  expect(names(loadAll(stdout))).toEqual(names(lying));
  expect(loadAll(stdout)).toEqual(expect.arrayContaining(lying));
});

test('check takes folders with what is below them but for status files, and says what it did not look into', async () => {
  expect(await check('good')).toMatchObject({
    code: 0,
    stdout: '2 manifests checked, no problem. Not looked into: 1 manifest of other kinds (Secret).\n',
    stderr: '',
  });
  const here = relative('.', at('good'));
  expect(await runAcmery(['manifests', 'check', `./${here}`], { env })).toMatchObject({ code: 0 });
});

test('check ends with 1 and a line for each problem in each file', async () => {
  const { code, stdout, stderr } = await check('good/all.yaml', 'bad.yaml', 'broken.yaml', 'none.yaml');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(/none\.yaml: cannot be read: ENOENT/),
    expect.stringMatching(/broken\.yaml:1: this is not YAML: /),
    expect.stringMatching(
      /bad\.yaml:4: Directory acmery-system\/web: spec\.signingCertRef\.name: this field is required$/,
    ),
    '3 problems. Not looked into: 1 manifest of other kinds (Secret).',
    '',
  ]);
});

test('the manifests of the documents have no problem', async () => {
  const text = await readFile('docs/custom-resources.md', 'utf8');
  const [, example = ''] = /```yaml\n(.*?)```/s.exec(text) ?? [];
  await writeFile(at('example.yaml'), example);
  expect(await check('example.yaml')).toMatchObject({ code: 0, stdout: '5 manifests checked, no problem.\n' });
});

test('check without files is wrong usage', async () => {
  expect(await check()).toMatchObject({ code: 2, stderr: expect.stringMatching(/^acmery: /) });
});
