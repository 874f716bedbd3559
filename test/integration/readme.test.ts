// The commands of the README, run as they are written, in a copy of the checkout.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';

const run = promisify(execFile);
const repository = join(import.meta.dirname, '../..');
const PORTS = [8443, 8444, 8080, 9090];

const isTaken = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

async function copyOfCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'acmery-readme-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
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

test('the walk through /v1 gives what it promises', async ({ skip }) => {
  for (const port of PORTS) if (await isTaken(port)) skip(`port ${port} of the README is in use here`);
  if (!(await run('curl', ['--version']).catch(() => undefined))) skip('curl is not installed');
  const folder = await copyOfCheckout();
  const readme = await readFile(join(folder, 'README.md'), 'utf8');
  const script = /<!-- walkthrough -->\n```sh\n(.*?)```/s.exec(readme)?.[1] ?? '';
  // The shell that starts the tests has put the right Node first; here the README's own way must do.
  const server = spawn('npm', ['start', '--silent'], { cwd: folder, stdio: 'ignore', detached: true });
  const ended = once(server, 'exit');
  onTestFinished(async () => {
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGINT');
    await ended;
  });
  const isReady = () =>
    fetch('http://127.0.0.1:9090/readyz').then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually('npm start is ready', isReady, 60_000);

  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder });

  const replies = stdout.split(/(?<=\})(?=\{)/).map((text) => JSON.parse(text));
  expect(replies).toMatchObject([
    { object: 'external_binding', name: 'shop', order_validations: 'auto_approve', acme_key_id: null },
    { would_be_accepted: false },
    { collection: [{ object: 'directory', slug: 'web', allowed_dns_identifiers: ['**.corp.example'] }] },
    { collection: expect.arrayContaining([expect.objectContaining({ action: 'create', object_kind: 'directory' })]) },
  ]);
});
