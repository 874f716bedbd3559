// The bundle does what the sources do.
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Ended, type Program, runAcmery, serveAcmery } from '../support/acmery-process.ts';
import { testDatabase } from '../support/database.ts';
import { BOOTSTRAP_TOKEN, firstCertificate } from '../support/first-certificate.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'acmery-bundle-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const bundle: Program = (args) => [process.execPath, join(inject('npmPackage'), 'acmery.js'), ...args];
const both = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended[]> =>
  Promise.all([runAcmery(args, { env }), runAcmery(args, { program: bundle, env: { HOME: home, ...env } })]);

test.for([
  ['--help'],
  ['--version'],
  ['serve', '--help'],
  ['serve', '--no-such-flag'],
  ['serve', '--acme-listen', 'nonsense'],
  ['manifests', 'crds'],
  ['manifests', 'check', 'examples/quickstart'],
])('acmery %s says the same from the bundle and from source', async (args) => {
  const [source, bundled] = await both(args);
  expect(bundled).toEqual(source);
});

test('doctor finds the same from the bundle and from source', async () => {
  await using database = await testDatabase();
  const listen = ['acme', 'api', 'http', 'ops'].flatMap((door) => [`--${door}-listen`, '127.0.0.1:0']);
  const args = ['doctor', '--output', 'json', '--data-dir', join(home, 'doctor'), ...listen];
  const [source, bundled] = await both(args, { DATABASE_URL: database.url });

  // The free space of the disk and the clock's distance are others by then.
  const settled = ({ stdout }: Ended): unknown => JSON.parse(stdout.replaceAll(/[\d.]+ (GB|ms)/g, 'some'));
  expect(source?.code).toBe(0);
  expect(bundled && settled(bundled)).toEqual(source && settled(source));
});

test('serve from the bundle brings the schema up, serves its documents and issues a certificate', async () => {
  await using database = await testDatabase();
  const dataDir = join(home, 'data');
  await using acmery = await serveAcmery(dataDir, [], {
    program: bundle,
    env: { HOME: home, DATABASE_URL: database.url, ACMERY_BOOTSTRAP_TOKEN: BOOTSTRAP_TOKEN },
  });
  await acmery.untilReady();

  const certificate = await firstCertificate(acmery, join(dataDir, 'tls/ca.crt'));
  expect(certificate.subjectAltName).toBe('DNS:shop.corp.example');
  expect((await acmery.api('/v1/docs')).body).toContain('</html>');
  expect(JSON.parse((await acmery.api('/v1/openapi.json')).body)).toMatchObject({
    openapi: expect.stringMatching(/^3\.1\./),
  });
  expect(await acmery.stop('SIGTERM')).toMatchObject({ code: 0 });
});

test('a stack trace names the lines of the sources', async () => {
  const planted = encodeURI("data:text/javascript,Object.fromEntries=()=>{throw Error('planted')}");
  const [source, bundled] = await both(['manifests', 'crds'], { NODE_OPTIONS: `--import=${planted}` });
  const places = (ended: Ended | undefined): readonly string[] => ended?.stderr.match(/src\/[\w/-]+\.ts:\d+/g) ?? [];

  expect(source?.stderr).toContain('planted');
  expect(places(bundled).length).toBeGreaterThan(0);
  expect(places(bundled)[0]).toBe(places(source)[0]);
});

test('compiled code is kept in a folder of the user alone', async () => {
  const { code } = await runAcmery(['--version'], { program: bundle, env: { HOME: join(home, 'kept') } });
  const folder = join(home, 'kept/.cache/acmery');

  expect(code).toBe(0);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect(await readdir(folder)).toHaveLength(1);
});

test('a Node that is too old is told so in one line', async () => {
  const old = encodeURI(
    "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'24.11.1'}})",
  );
  const { code, stderr } = await runAcmery(['--version'], {
    program: bundle,
    env: { HOME: home, NODE_OPTIONS: `--import=${old}` },
  });
  expect(code).toBe(1);
  expect(stderr).toBe(`acmery needs Node 24.12 or newer; this is 24.11.1 (${process.execPath}).\n`);
});
