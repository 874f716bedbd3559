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

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');
const PORTS = [8443, 8444, 8080, 9090];
/** What stands for the lines of a client, where neither of the two is here. */
const OWN_CLIENT = `
CERTIFICATE=$CLIENT/certificate.pem
NODE_EXTRA_CA_CERTS=.acmery/tls/ca.crt node "${join(repository, 'test/support/run-acme-client.ts')}" \\
  "$SERVER" "$KID" "$HMAC" shop.corp.example > "$CERTIFICATE"
`;

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
    ['ls-files', '--cached', '--others', '--exclude-standard', 'src', 'scripts', '*.json', '.npmrc', 'README.md'],
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

/** The README's block of that name. */
function blockOf(readme: string, name: string): string {
  const text = new RegExp(`<!-- walkthrough: ${name} -->\n\`\`\`sh\n(.*?)\`\`\``, 's').exec(readme)?.[1];
  if (text === undefined) throw new Error(`README.md has no commands for ${name}`);
  return text;
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
const walks = new Map<Client, Walk>();

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
  await eventually('npm start says what to do next', async () => (await said()).includes('README.md.'), 60_000);
  started = await said();
  await start().ended;
  secondStart = (await said()).slice(started.length);

  const env = { ...process.env, PATH: await searchPath() };
  const walk = async (client: Client, ...blocks: readonly string[]): Promise<void> => {
    const script = blocks.join('\n');
    const { stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder, env });
    const lines = stdout.trim().split('\n');
    const replies = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    walks.set(client, { replies, verified: lines.filter((line) => line.endsWith(': OK')), lines, errors: stderr });
  };
  const block = (name: string): string => blockOf(readme, name);
  const begin = [block('setup'), block('directory'), 'echo "$DIRECTORY" > directory', block('token')];
  const again = [block('setup'), 'DIRECTORY=$(cat directory)', block('token')];
  const end = [block('certificate'), block('explain'), block('check'), block('revoke')];
  await walk('acme-client', ...begin, OWN_CLIENT, ...end);
  for (const client of ['certbot', 'lego'] as const) {
    const isHere = await run('bash', ['-c', `command -v ${client}`], { env }).catch(() => undefined);
    if (isHere !== undefined) await walk(client, ...again, block(client), ...end);
  }

  await first.stop();
  start();
  await eventually('the next npm start names clients', async () => (await said()).includes('lego run'), 60_000);
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

  expect(started).toMatch(
    / ready startMs=\d+\n\nAcmery is ready\..*https:\/\/localhost:8443\/acme\/<slug>\/directory/s,
  );
  expect(started.trim().split('\n').at(-1)).toBe(
    'From here to a first certificate: "A first certificate" in README.md.',
  );
  expect(secondStart.trim().split('\n').at(-1)).toMatch(/^acmery: ACMERY_OPS_LISTEN: 127\.0\.0\.1:9090 is in use /);
});

test('the next npm start names the directory, and how clients use it', ({ skip }) => {
  if (skipped !== undefined) skip(skipped);

  expect(nextStart).toMatch(/ACME +https:\/\/localhost:8443\/acme\/web\/directory\n/);
  expect(nextStart).toMatch(/certbot certonly .*\n +--server https:\/\/localhost:8443\/acme\/web\/directory /);
  expect(nextStart).toMatch(/lego run .*\n +--server https:\/\/localhost:8443\/acme\/web\/directory /);
});

test.for(['acme-client', 'certbot', 'lego'] as const)('a first certificate, by %s', (client, { skip }) => {
  if (skipped !== undefined) skip(skipped);
  const walk = walks.get(client);
  if (walk === undefined) return skip(`${client} is not here; npm run e2e fetches it`);

  // By its chain, and then by the CRLs of that too.
  expect(walk.verified).toHaveLength(2);
  expect(walk.replies).toMatchObject([
    {
      collection: expect.arrayContaining([
        expect.objectContaining({ object: 'issued_cert', subjects: ['shop.corp.example'], state: 'valid' }),
      ]),
    },
    { would_be_accepted: false },
    { collection: expect.arrayContaining([expect.objectContaining({ object: 'audit_event' })]) },
    { object: 'issued_cert', state: 'revoked', revoke_reason: 'superseded' },
  ]);
});

test.for(['acme-client', 'certbot', 'lego'] as const)(
  'openssl accepts the certificate of %s by CRL and OCSP, and refuses it once it is revoked',
  (client, { skip }) => {
    if (skipped !== undefined) skip(skipped);
    const walk = walks.get(client);
    if (walk === undefined) return skip(`${client} is not here; npm run e2e fetches it`);

    const ofOcsp = walk.lines.flatMap((line) => /: (good|revoked|unknown)$/.exec(line)?.[1] ?? []);
    expect(ofOcsp).toEqual(['good', 'revoked']);
    expect(walk.errors.match(/Response verify OK/g)).toHaveLength(2);
    expect(walk.lines.map((line) => line.trim())).toContain('Reason: superseded');
    expect(walk.lines.at(-1)).toBe('openssl refuses it');
    expect(walk.errors).toMatch(/error 23 at 0 depth lookup: certificate revoked/);
  },
);
