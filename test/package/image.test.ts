// The image, as its Dockerfile says it runs: as nobody in particular, with a root that cannot be written.
import { spawnSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { imageConfig } from '../../scripts/package/dockerfile.ts';
import { imageCommand, withoutNamespaces } from '../../scripts/package/image-process.ts';
import { manifest } from '../../scripts/package/tree.ts';
import { type Program, serveAcmery } from '../support/acmery-process.ts';
import { testDatabase } from '../support/database.ts';
import { filesBelow } from '../support/files-below.ts';
import { BOOTSTRAP_TOKEN, firstCertificate } from '../support/first-certificate.ts';
import { runScript } from '../support/package-setup.ts';
import { blockOfFile, runBlocks } from '../support/walkthrough.ts';

const USER = 65532;
const DATA = '/var/lib/acmery';
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-image-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('two builds are the same, byte for byte, in whatever folder and whenever they are made', async () => {
  const again = join(folder, 'again');
  await runScript('image.ts', 'build', again);
  expect(await filesBelow(again)).toEqual(await filesBelow(inject('image')));
});

test('it holds Node, its libraries and the program: no shell, no npm, no package that is not in the bundle', async () => {
  const files = await filesBelow(inject('image'));
  const programs = files.filter(({ mode, content }) => content !== undefined && (mode & 0o111) !== 0);
  expect(programs.map(({ path }) => path).filter((path) => !/^\/(lib|lib64|usr\/lib)\//.test(path))).toEqual([
    '/app/acmery.js',
    '/usr/local/bin/acmery',
    '/usr/local/bin/node',
  ]);
  expect(files.filter(({ path }) => path.includes('node_modules') || path.includes('npm'))).toEqual([]);
  expect(files.filter(({ mode, path }) => (mode & 0o022) !== 0 && path !== '/tmp' && !isLink(path))).toEqual([]);
  expect(files.filter(({ seconds }) => seconds !== 0)).toEqual([]);
  const megabytes = files.reduce((sum, { path, bytes }) => sum + (path === '/usr/local/bin/node' ? 0 : bytes), 0) / 1e6;
  expect(megabytes).toBeLessThan(120);
});

const isLink = (path: string): boolean => path === '/usr/local/bin/acmery';

test('its bill of materials names the program, Node, the libraries and the packages in the bundle', async () => {
  const sbom = JSON.parse(await readFile(join(inject('image'), 'app/sbom.cdx.json'), 'utf8'));
  const names = sbom.components.map(({ name }: { name: string }) => name);
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { version: manifest.version } } });
  expect(sbom.metadata).not.toHaveProperty('timestamp');
  expect(names).toEqual(expect.arrayContaining(['node', 'express', 'kysely', 'pg']));
  const ofDebian = (await filesBelow(inject('image'))).filter(({ path }) => path.startsWith('/var/lib/dpkg/status.d/'));
  expect(names).toEqual(expect.arrayContaining(ofDebian.map(({ path }) => path.split('/').at(-1))));
});

/** The sockets of this machine are not in the image. */
function overTcp(url: string): string {
  const changed = new URL(url);
  changed.searchParams.delete('host');
  changed.hostname = '127.0.0.1';
  return changed.href;
}

/** Runs in the image, with a folder of this machine for its data. */
function inImage(data: string): Program {
  const place = (arg: string): string => (arg.startsWith(data) ? arg.replace(data, DATA) : arg);
  return (args, env) => imageCommand({ root: inject('image'), args: args.map(place), env, data });
}

test('it runs as user 65532, and writes only to its data and /tmp', ({ skip }) => {
  const reason = withoutNamespaces();
  if (reason !== undefined) skip(reason);
  const probe = `
    const paths = ['/x', '/app/x', '/etc/x', '/dev/x', '/usr/local/bin/node', '/tmp/x', '${DATA}/x'];
    const written = paths.filter((path) => { try { fs.writeFileSync(path, ''); return true; } catch { return false; } });
    const { uid, gid } = os.userInfo();
    console.log(JSON.stringify({ uid, gid, groups: process.getgroups(), folder: process.cwd(), written }));`;
  const [program = '', ...args] = imageCommand({ root: inject('image'), entrypoint: ['node', '-e'], args: [probe] });
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({
    uid: USER,
    gid: USER,
    folder: DATA,
    written: ['/tmp/x', `${DATA}/x`],
  });
});

test('its other commands are there by their name', ({ skip }) => {
  const reason = withoutNamespaces();
  if (reason !== undefined) skip(reason);
  const [program = '', ...args] = imageCommand({
    root: inject('image'),
    entrypoint: ['acmery'],
    args: ['manifests', 'crds'],
  });
  expect(spawnSync(program, args, { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
    stdout: expect.stringContaining('kind: CustomResourceDefinition'),
  });
});

test('the README runs it', async ({ skip }) => {
  const reason = withoutNamespaces();
  if (reason !== undefined) skip(reason);
  const { stdout, stderr } = await runBlocks([await blockOfFile('README.md', 'image-run')]);
  expect({ stdout, stderr }).toEqual({ stdout: `${manifest.version}\n`, stderr: '' });
});

test('it becomes ready, is found healthy as its Dockerfile asks, issues a certificate and stops in peace', async ({
  skip,
}) => {
  const reason = withoutNamespaces();
  if (reason !== undefined) skip(reason);
  await using database = await testDatabase();
  const data = join(folder, 'data');
  await mkdir(data, { mode: 0o700 });
  if (process.getuid?.() === 0) await chown(data, USER, USER);
  await using acmery = await serveAcmery(data, [], {
    program: inImage(data),
    env: { DATABASE_URL: overTcp(database.url), ACMERY_BOOTSTRAP_TOKEN: BOOTSTRAP_TOKEN },
  });
  await acmery.untilReady();

  const status = await readFile(`/proc/${acmery.child.pid}/status`, 'utf8');
  if (process.getuid?.() === 0)
    expect(status).toMatch(new RegExp(`^Uid:\\s${USER}\\s${USER}\\s${USER}\\s${USER}$`, 'm'));
  const health = imageConfig().health.map((word) => word.replace('9090', new URL(acmery.opsUrl).port));
  const [program = '', ...args] = imageCommand({ root: inject('image'), entrypoint: health, args: [] });
  expect(spawnSync(program, args, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });

  const certificate = await firstCertificate(acmery, join(data, 'tls/ca.crt'));
  expect(certificate.subjectAltName).toBe('DNS:shop.corp.example');
  expect(await acmery.stop('SIGTERM')).toMatchObject({ code: 0 });
  expect(spawnSync(program, args, { encoding: 'utf8' }).status).toBe(1);
});

test('serve without a database says that the image brings none', ({ skip }) => {
  const reason = withoutNamespaces();
  if (reason !== undefined) skip(reason);
  const env = Object.fromEntries(
    ['ACME', 'API', 'HTTP', 'OPS'].map((door) => [`ACMERY_${door}_LISTEN`, '127.0.0.1:0']),
  );
  const [program = '', ...args] = imageCommand({ root: inject('image'), env });
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toContain('set DATABASE_URL');
});
