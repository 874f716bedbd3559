// The commands of the README, run as they are written, in a copy of the checkout, by every ACME client that is at hand.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, open, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cacheFolder } from '../e2e/fetch.ts';
import { eventually } from '../support/eventually.ts';
import { blockOf, runBlocks } from '../support/walkthrough.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');
const PORTS = [8443, 8444, 8080, 9090];
/** What stands for the lines of a client, where neither of the two is here. */
const ownClient = (server: string, kid: string, hmac: string, name: string): string => `
CERTIFICATE=$CLIENT/certificate.pem
NODE_EXTRA_CA_CERTS=.acmery/tls/ca.crt node "${join(repository, 'test/support/run-acme-client.ts')}" \\
  "${server}" "${kid}" "${hmac}" ${name} > "$CERTIFICATE"
`;
const OWN_BY_PAIR = ownClient('$(cat $PAIR/directory)', '$(cat $PAIR/kid)', '$(cat $PAIR/secret)', 'shop.corp.example');
const OWN_BY_TOKEN = ownClient('$SERVER', '$KID', '$HMAC', 'printer.lab.example');

const cleanUp = new AsyncDisposableStack();

const isTaken = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

async function copyOfCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'acmery-readme-'));
  cleanUp.defer(() => rm(folder, { recursive: true, force: true }));
  const { stdout } = await run(
    'git',
    [
      'ls-files',
      '--cached',
      '--others',
      '--exclude-standard',
      'src',
      'scripts',
      'examples',
      '*.json',
      '.npmrc',
      'README.md',
    ],
    {
      cwd: repository,
    },
  );
  for (const file of stdout.trim().split('\n')) {
    await cp(join(repository, file), join(folder, file), { recursive: true });
  }
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Where the clients are that `npm run e2e` has fetched; first of all, those of this machine. */
async function searchPath(): Promise<string> {
  const kept = await readdir(cacheFolder).catch(() => []);
  const folders = kept.flatMap((name) => [join(cacheFolder, name, 'bin'), join(cacheFolder, name)]);
  return [process.env.PATH, ...folders].join(delimiter);
}

type Client = 'certbot' | 'lego' | 'acme-client';
type Walk = {
  readonly replies: readonly unknown[];
  readonly verified: readonly string[];
  readonly lines: readonly string[];
  readonly errors: string;
};

let skipped: string | undefined;
let started: string;
let secondStart: string;
let nextStart: string;
/** From the EAB pair of a folder to a certificate. */
const firstWalks = new Map<Client, Walk>();
let folderWalk: Walk;
let folderLog: string;
/** The whole way through /v1. */
const apiWalks = new Map<Client, Walk>();

beforeAll(async () => {
  skipped = await hindrance();
  if (skipped !== undefined) return;
  const folder = await copyOfCheckout();
  const readme = await readFile(join(folder, 'README.md'), 'utf8');
  const log = await open(join(folder, 'npm-start.log'), 'w+');
  cleanUp.defer(() => log.close());
  // The shell that starts the tests has put the right Node first; here the README's own way must do.
  const start = () => {
    const server = spawn('npm', ['start', '--silent', '--', '--log-format', 'text'], {
      cwd: folder,
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    });
    const ended = once(server, 'exit');
    const stop = async (): Promise<void> => {
      if (server.pid !== undefined && server.exitCode === null) process.kill(-server.pid, 'SIGINT');
      await ended;
    };
    cleanUp.defer(stop);
    return { ended, stop };
  };
  const said = () => readFile(join(folder, 'npm-start.log'), 'utf8');
  const first = start();
  await eventually('npm start says what to do next', async () => (await said()).includes('Call /v1'), 60_000);
  started = await said();
  await start().ended;
  secondStart = (await said()).slice(started.length);

  const env = { ...process.env, PATH: await searchPath() };
  const walk = async (...blocks: readonly string[]): Promise<Walk> => {
    const { stdout, stderr } = await runBlocks(blocks, { cwd: folder, env });
    const lines = stdout.trim().split('\n');
    const replies = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    return { replies, verified: lines.filter((line) => line.endsWith(': OK')), lines, errors: stderr };
  };
  // A machine that runs other tests beside needs more than the second of the README.
  const block = (name: string): string => blockOf(readme, name).replaceAll('sleep 1', 'sleep 3');
  const isHere = (client: string) => run('bash', ['-c', `command -v ${client}`], { env }).then(Boolean, () => false);

  firstWalks.set('acme-client', await walk(block('pair'), OWN_BY_PAIR, block('verify')));
  for (const client of ['certbot', 'lego'] as const) {
    if (!(await isHere(client))) continue;
    const another = block('another').replaceAll('blog', `by-${client}`);
    firstWalks.set(client, await walk(block('pair'), another, block(client), block('verify')));
  }
  const change = [block('change'), OWN_BY_PAIR, block('verify')];
  folderWalk = await walk(block('pair'), block('another'), ...change, block('mistake'), block('deletion'));
  folderLog = (await said()).slice(started.length);

  const begin = [block('setup'), block('directory'), 'echo "$DIRECTORY" > directory', block('token')];
  const again = [block('setup'), 'DIRECTORY=$(cat directory)', block('token')];
  const end = [block('certificate'), block('explain'), block('check'), block('revoke')];
  apiWalks.set('acme-client', await walk(...begin, OWN_BY_TOKEN, ...end));
  if (await isHere('certbot')) apiWalks.set('certbot', await walk(...again, block('client'), ...end));

  await first.stop();
  start();
  await eventually(
    'the next npm start names clients',
    async () => (await said()).split('Acmery is ready.').length > 2,
    60_000,
  );
  nextStart = (await said()).split('Acmery is ready.').at(-1) ?? '';
}, 120_000);

afterAll(() => cleanUp.disposeAsync());

async function hindrance(): Promise<string | undefined> {
  for (const port of PORTS) if (await isTaken(port)) return `port ${port} of the README is in use here`;
  for (const program of ['curl', 'openssl']) {
    if (!(await run(program, ['version']).catch(() => run(program, ['--version']).catch(() => undefined))))
      return `${program} is not installed`;
  }
  return undefined;
}

test('npm start ends with what to do next, and a second one with why it does not start', ({ skip }) => {
  if (skipped !== undefined) skip(skipped);

  expect(started).toMatch(/ ready startMs=\d+\n.*\nAcmery is ready\./s);
  const lines = started.split('Acmery is ready.')[1] ?? '';
  const pair = '.acmery/outputs/acmery-system/shop-eab';
  for (const told of [
    /\n +ACME +https:\/\/localhost:8443\/acme\/web\/directory\n/,
    `${pair}/kid  ${pair}/secret`,
    /\n +trust +\.acmery\/tls\/ca\.crt /,
    /certbot certonly .*\n +--server https:\/\/localhost:8443\/acme\/web\/directory .*\n.*shop-eab\/secret\)".*\n.* -d shop\.corp\.example /,
    /lego run .*\n +--server https:\/\/localhost:8443\/acme\/web\/directory .*\n.*shop-eab\/secret\)" .*\n.* -d shop\.corp\.example /,
    / curl --cacert \.acmery\/tls\/ca\.crt .* https:\/\/localhost:8444\/v1\/directories\n/,
  ]) {
    expect(lines).toMatch(told);
  }
  expect(secondStart.trim().split('\n').at(-1)).toMatch(/^acmery: ACMERY_OPS_LISTEN: 127\.0\.0\.1:9090 is in use /);
});

test('once its pairs are used npm start says how to get another', ({ skip }) => {
  if (skipped !== undefined) skip(skipped);

  expect(nextStart).toMatch(/ACME +https:\/\/localhost:8443\/acme\/lab\/directory\n/);
  expect(nextStart).toContain('All EAB pairs are used; declare another ExternalBinding in examples/quickstart,');
  expect(nextStart).toMatch(/lego run .*\n +--server https:\/\/localhost:8443\/acme\/web\/directory .*\n.*kid KID /);
});

test.for(['acme-client', 'certbot', 'lego'] as const)('a first certificate, by %s', (client, { skip }) => {
  if (skipped !== undefined) skip(skipped);
  const walk = firstWalks.get(client);
  if (walk === undefined) return skip(`${client} is not here; npm run e2e fetches it`);

  expect(walk.verified).toHaveLength(1);
  expect(walk.lines.map((line) => line.trim())).toContain('DNS:shop.corp.example');
});

test('what changes in the folder counts within a second, and a mistake changes nothing', ({ skip }) => {
  if (skipped !== undefined) skip(skipped);
  const { lines, verified, errors } = folderWalk;

  expect(lines.slice(0, 4)).toEqual(['ca.crt', 'directory', 'kid', 'secret']);
  expect(lines).toContain('  observedGeneration: 2');
  expect(lines).toContain('  certMaxDays: 10');
  expect(verified).toHaveLength(1);
  expect(daysOf(lines)).toBe(10);
  expect(lines).toContain('not taken');
  expect(errors).toMatch(/2-directory\.yaml:17: .*certMaxDays: expected an integer from 0 to 3650, got "ten"/);
  expect(folderLog).toMatch(/error a manifest is not taken: .*2-directory\.yaml:17: /);
  expect(lines).toContain('acmery_manifest_problems 1');
  const left = lines.slice(lines.indexOf('acmery_manifest_problems 1') + 1);
  expect(left).toEqual(expect.arrayContaining(['shop-eab', 'web-acme']));
  expect(left).not.toContain('blog-eab');
  expect(folderLog).toMatch(/ deleted\. object="ExternalBinding acmery-system\/blog" reason=Deleted/);
});

/** As openssl prints its dates. */
function daysOf(lines: readonly string[]): number {
  const [from = 0, to = 0] = ['notBefore=', 'notAfter='].map((name) =>
    Date.parse(lines.find((line) => line.startsWith(name))?.slice(name.length) ?? ''),
  );
  return Math.round((to - from) / 86_400_000);
}

test.for(['acme-client', 'certbot'] as const)('the same through /v1, by %s', (client, { skip }) => {
  if (skipped !== undefined) skip(skipped);
  const walk = apiWalks.get(client);
  if (walk === undefined) return skip(`${client} is not here; npm run e2e fetches it`);

  // By its chain, and then by the CRLs of that too.
  expect(walk.verified).toHaveLength(2);
  expect(walk.replies).toMatchObject([
    {
      collection: expect.arrayContaining([
        expect.objectContaining({ object: 'issued_cert', subjects: ['printer.lab.example'], state: 'valid' }),
      ]),
    },
    { would_be_accepted: false },
    { collection: expect.arrayContaining([expect.objectContaining({ object: 'audit_event' })]) },
    { object: 'issued_cert', state: 'revoked', revoke_reason: 'superseded' },
  ]);
});

test.for(['acme-client', 'certbot'] as const)(
  'openssl accepts the certificate of %s by CRL and OCSP, and refuses it once it is revoked',
  (client, { skip }) => {
    if (skipped !== undefined) skip(skipped);
    const walk = apiWalks.get(client);
    if (walk === undefined) return skip(`${client} is not here; npm run e2e fetches it`);

    const ofOcsp = walk.lines.flatMap((line) => /: (good|revoked|unknown)$/.exec(line)?.[1] ?? []);
    expect(ofOcsp).toEqual(['good', 'revoked']);
    expect(walk.errors.match(/Response verify OK/g)).toHaveLength(2);
    expect(walk.lines.map((line) => line.trim())).toContain('Reason: superseded');
    expect(walk.lines.at(-1)).toBe('openssl refuses it');
    expect(walk.errors).toMatch(/error 23 at 0 depth lookup: certificate revoked/);
  },
);
