// A machine of its own by the commands of its quickstart, up to certificates of real clients; then a backup that is put back.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cacheFolder } from '../e2e/fetch.ts';
import { type ServingAcmery, serveAcmery } from '../support/acmery-process.ts';
import { eventually } from '../support/eventually.ts';
import { missingProgram } from '../support/missing-program.ts';
import { freePorts } from '../support/plane/free-ports.ts';
import { blockOfFile, runBlocks } from '../support/walkthrough.ts';

const run = promisify(execFile);
const QUICKSTART = 'docs/quickstart-vm.md';
const OPERATIONS = 'docs/operations.md';
const UNIT = 'examples/systemd/acmery.service';
const repository = join(import.meta.dirname, '../..');
const client = join(repository, 'test/support/run-acme-client.ts');
const OUTPUTS = 'var/lib/acmery/outputs/acmery-system';

const cleanUp = new AsyncDisposableStack();
let skipped: string | undefined;
let said: { readonly check: string; readonly ready: string; readonly pair: string };
const verified = new Map<string, string>();
let roots: { readonly before: string; readonly after: string };

beforeAll(async () => {
  skipped = await missingProgram(['tar', 'curl', 'openssl']);
  if (skipped !== undefined) return;
  const root = await mkdtemp(join(tmpdir(), 'acmery-vm-'));
  cleanUp.defer(() => rm(root, { recursive: true, force: true, maxRetries: 10 }));
  const { acme, http, ops } = await freePorts(['acme', 'http', 'ops']);
  const url = `https://localhost:${acme}`;
  const here = (text: string): string =>
    text
      .replaceAll('/opt/acmery', repository)
      .replaceAll(/(?<![\w/])\/(etc\/acmery|var\/lib\/acmery)/g, `${root}/$1`)
      .replaceAll('--directory=/', `--directory=${root}`)
      .replaceAll('https://ca.corp.example', url)
      .replaceAll('0.0.0.0:443', `127.0.0.1:${acme}`)
      .replaceAll('0.0.0.0:80', `127.0.0.1:${http}`)
      .replaceAll('localhost:9090', `localhost:${ops}`);
  const block = async (page: string, name: string): Promise<string> => here(await blockOfFile(page, name));
  const line = /^ExecStart=.* (serve .*)$/m.exec(await readFile(join(repository, UNIT), 'utf8'))?.[1];
  const [, ...args] = here(line ?? '').split(' ');
  const start = async (): Promise<ServingAcmery> => {
    const dataDir = join(root, 'var/lib/acmery');
    const listen = ['--acme-listen', `127.0.0.1:${acme}`, '--http-listen', `127.0.0.1:${http}`];
    const acmery = await serveAcmery(dataDir, [...args, ...listen, '--ops-listen', `127.0.0.1:${ops}`]);
    // The address that it was told last is the one that counts.
    await eventually(
      'it is ready',
      () =>
        fetch(`http://127.0.0.1:${ops}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      30_000,
    );
    return acmery;
  };
  const text = (path: string): Promise<string> => readFile(join(root, path), 'utf8').catch(() => '');
  const paired = (name: string): Promise<void> =>
    eventually(`${name} has its pair`, async () => (await text(`${OUTPUTS}/${name}-eab/secret`)).length === 43, 30_000);

  await mkdir(join(root, 'etc/acmery/manifests'), { recursive: true });
  const { stdout: check } = await runBlocks([
    await block(QUICKSTART, 'settings'),
    await block(QUICKSTART, 'manifests'),
  ]);
  const shop = await text('etc/acmery/manifests/3-binding.yaml');
  for (const name of ['blog', 'spare'])
    await writeFile(join(root, `etc/acmery/manifests/${name}.yaml`), shop.replaceAll('shop', name));

  const enrolled = new Map<string, string>();
  const enrol = async (name: string, command: string, certificate: string): Promise<void> => {
    const folder = join(root, name);
    await run('cp', ['-r', join(root, OUTPUTS, `${name}-eab`), folder]);
    await runBlocks([`export PATH="$PATH:${await clientFolders()}"; cd "${folder}"`, command]);
    enrolled.set(name, `${folder}/${certificate}`);
  };
  const byOurs = (name: string): string =>
    `NODE_EXTRA_CA_CERTS=ca.crt "${process.execPath}" "${client}" "$(cat directory)" "$(cat kid)" "$(cat secret)" ${name}.corp.example > chain.pem`;
  {
    await using acmery = await start();
    await paired('shop');
    const { stdout: ready } = await runBlocks([await block(QUICKSTART, 'ready')]);
    const { stdout: pair } = await runBlocks([await block(QUICKSTART, 'pair')]);
    said = { check, ready, pair };
    const folders = '--config-dir . --work-dir . --logs-dir .';
    const certbot = (await block(QUICKSTART, 'certbot')).replace('certbot certonly', `certbot certonly ${folders}`);
    if (await isHere('certbot')) await enrol('shop', certbot, 'live/shop.corp.example/fullchain.pem');
    const lego = (await block(QUICKSTART, 'lego')).replace('-d shop.', '--path . -d blog.');
    if (await isHere('lego')) await enrol('blog', lego, 'certificates/blog.corp.example.crt');
    await acmery.stop('SIGTERM');
  }
  const before = await text(`${OUTPUTS}/web-acme/roots.pem`);
  await runBlocks([`cd "${root}"`, await block(OPERATIONS, 'copy')]);
  await rm(join(root, 'var'), { recursive: true });
  await rm(join(root, 'etc'), { recursive: true });
  await runBlocks([`cd "${root}"`, await block(OPERATIONS, 'put-back')]);
  await using _ = await start();
  await paired('spare');
  roots = { before, after: await text(`${OUTPUTS}/web-acme/roots.pem`) };
  await enrol('spare', byOurs('spare'), 'chain.pem');
  for (const [name, file] of enrolled) {
    const { stdout } = await run('openssl', [
      'verify',
      '-CAfile',
      join(root, OUTPUTS, 'web-acme/roots.pem'),
      '-untrusted',
      file,
      file,
    ]);
    verified.set(name, stdout.trim());
  }
}, 120_000);

afterAll(() => cleanUp.disposeAsync());

async function clientFolders(): Promise<string> {
  const kept = await readdir(cacheFolder).catch(() => []);
  return kept.flatMap((name) => [join(cacheFolder, name, 'bin'), join(cacheFolder, name)]).join(':');
}

const isHere = async (program: string): Promise<boolean> =>
  run('bash', ['-c', `PATH="$PATH:${await clientFolders()}" command -v ${program}`]).then(Boolean, () => false);

test('the settings and the manifests of the quickstart are good, and the service becomes ready', ({ skip }) => {
  if (skipped !== undefined) skip(skipped);
  expect(said.check).toContain('4 manifests checked, no problem.');
  expect(JSON.parse(said.ready)).toMatchObject({ ok: true });
  expect(said.pair.trim().split('\n')).toEqual(['ca.crt', 'directory', 'kid', 'secret']);
});

test.for([
  ['certbot', 'shop'],
  ['lego', 'blog'],
] as const)('a certificate from another machine, by %s', ([program, name], { skip }) => {
  if (skipped !== undefined) skip(skipped);
  const outcome = verified.get(name);
  if (outcome === undefined) return skip(`${program} is not here; npm run e2e fetches it`);
  expect(outcome).toMatch(/: OK$/);
});

test('what was backed up goes on after it was put back: the same root, tokens that were not used, new certificates', ({
  skip,
}) => {
  if (skipped !== undefined) skip(skipped);
  expect(roots.before).toMatch(/^-----BEGIN CERTIFICATE-----/);
  expect(roots.after).toBe(roots.before);
  expect(verified.get('spare')).toMatch(/: OK$/);
});

test('systemd takes the unit, and finds little that it may do', async ({ skip }) => {
  const reason = await missingProgram(['systemd-analyze']);
  if (reason !== undefined) skip(reason);
  const unit = join(repository, UNIT);
  expect(await run('systemd-analyze', ['verify', unit])).toEqual({ stdout: '', stderr: '' });
  // Tenths: 1.8 of 10, and what has nothing switched off has 9.6.
  await run('systemd-analyze', ['security', '--no-pager', '--offline=true', '--threshold=20', unit]);
});
