// The program from outside: it starts from nothing, ends cleanly, finds its data again, and says what is wrong in one line.

import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runAcmery, serveAcmery } from '../support/acmery-process.ts';
import { testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

async function aDataDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'acmery-serve-'));
  // The Postgres of a server that was killed ends, and writes, a moment after it.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

const tokenOf = async (dataDir: string, permission = 'admin'): Promise<string> => {
  const made = await runAcmery(['token', 'create', '--name', 'ci', '--permission', permission, '--data-dir', dataDir]);
  expect(made).toMatchObject({ code: 0 });
  return made.stdout.trim();
};

describe('from nothing', () => {
  test('serves /v1 over HTTPS that our own anchor verifies, ends with 0, and finds its data again, after kill -9 too', async () => {
    const dataDir = await aDataDir();
    const first = await serveAcmery(dataDir);
    await first.untilReady();
    const token = await tokenOf(dataDir);
    const authorization = `Bearer ${token}`;

    expect(await first.api('/v1/openapi.json')).toMatchObject({ status: 200 });
    expect(await first.api('/ui')).toMatchObject({ status: 401 });
    expect(await first.api('/v1/audit_events', { authorization })).toMatchObject({ status: 200 });
    const noDirectory = await first.acme('/acme/web/directory');
    expect(noDirectory).toMatchObject({ status: 404, body: expect.stringContaining('urn:ietf:params:acme:error:') });
    // Its own Postgres ends too, and a clean stop is no trouble.
    const { not } = expect;
    expect(await first.stop('SIGINT')).toMatchObject({ code: 0, stderr: not.stringContaining('connection was lost') });

    const second = await serveAcmery(dataDir);
    await second.untilReady();
    expect(await second.api('/v1/audit_events', { authorization })).toMatchObject({ status: 200 });
    await second.stop('SIGKILL');

    await using third = await serveAcmery(dataDir);
    await third.untilReady();
    expect(await third.api('/v1/audit_events', { authorization })).toMatchObject({ status: 200 });
    expect(await third.stop('SIGTERM')).toMatchObject({ code: 0, stderr: not.stringContaining('connection was lost') });
    // Three starts and a command, on a machine that may be busy.
  }, 90_000);

  test('serves as an ordinary user', async ({ skip }) => {
    if (!isRoot) skip('only root can start a process as somebody else');
    const dataDir = await aDataDir();
    await chown(dataDir, NOBODY, NOBODY);

    await using acmery = await serveAcmery(dataDir, [], { uid: NOBODY, env: { HOME: dataDir } });
    await acmery.untilReady();

    expect(await acmery.api('/v1/openapi.json')).toMatchObject({ status: 200 });
    expect(await acmery.stop('SIGINT')).toMatchObject({ code: 0 });
  });

  test('serves from a data folder below one that only root may enter', async ({ skip }) => {
    if (!isRoot) skip('only root has such folders');
    const outer = await aDataDir();
    await chmod(outer, 0o700);

    await using acmery = await serveAcmery(join(outer, 'data'));
    await acmery.untilReady();

    expect((await acmery.ready()).text).toContain('readyz check passed');
  });

  test('tells a person what to do next, and a machine only JSON', async () => {
    await using own = await testDatabase();
    const dataDir = await aDataDir();
    const env = { DATABASE_URL: own.url };
    const asText = ['--log-format', 'text', '--public-url', 'https://[::1]:8443'];
    await using forPeople = await serveAcmery(dataDir, asText, { env });
    await forPeople.untilReady();
    const people = await forPeople.stop('SIGINT');
    await using forMachines = await serveAcmery(dataDir, ['--log-format', 'json'], { env });
    await forMachines.untilReady();
    const machines = await forMachines.stop('SIGINT');

    expect(people.stderr).toContain('names=["::1","localhost"]');
    expect(people.stdout).toContain('token create --name me --permission admin');
    expect(people.stdout).toContain('https://[::1]:8443/acme/<slug>/directory   (no directory yet)');
    expect(machines.stdout).toBe('');
    const lines = machines.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ message }) => message)).toContain('ready');
  });
});

test('one Ctrl-C stops it cleanly, though npm passes it on as well', async () => {
  await using own = await testDatabase();
  await using acmery = await serveAcmery(await aDataDir(), [], { env: { DATABASE_URL: own.url } });
  await acmery.untilReady();
  acmery.child.stderr?.on('data', (text: string) => {
    if (text.includes('draining')) acmery.child.kill('SIGINT');
  });

  const { code, stderr } = await acmery.stop('SIGINT');

  expect(code).toBe(0);
  expect(stderr).toContain('"stopped"');
});

describe('the database', () => {
  test('away at first: one clear line, not ready, and no end to trying', async () => {
    await using own = await testDatabase();
    const { hostname, port } = new URL(own.url);
    await using proxy = await TcpProxy.to({ host: hostname, port: Number(port) });
    const url = new URL(own.url);
    url.port = String(proxy.port);
    await using acmery = await serveAcmery(await aDataDir(), [], { env: { DATABASE_URL: url.href } });
    await eventually('readiness answers', () =>
      acmery.ready().then(
        ({ status }) => status === 503,
        () => false,
      ),
    );

    expect((await acmery.ready()).text).toMatch(/\[-\]started failed: waiting for the database/);

    await proxy.mend();
    await acmery.untilReady();
    const { stderr } = await acmery.stop('SIGTERM');
    const told = stderr.split('\n').filter((line) => line.includes('the database does not answer'));
    expect(told).toEqual([expect.stringContaining('does not accept connections')]);
  });

  test('away later: 503 with Retry-After, and recovery by itself', async () => {
    await using own = await testDatabase();
    const { hostname, port } = new URL(own.url);
    await using proxy = await TcpProxy.to({ host: hostname, port: Number(port) });
    await proxy.mend();
    const url = new URL(own.url);
    url.port = String(proxy.port);
    const dataDir = await aDataDir();
    const env = { DATABASE_URL: url.href };
    await using acmery = await serveAcmery(dataDir, [], { env });
    await acmery.untilReady();
    const made = await runAcmery(['token', 'create', '--name', 'ci', '--permission', 'admin', '--data-dir', dataDir], {
      env,
    });
    const headers = { authorization: `Bearer ${made.stdout.trim()}` };

    await proxy.cut();
    const away = await acmery.api('/v1/audit_events', headers);
    expect(away).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) });
    await eventually('not ready', async () => (await acmery.ready()).status === 503);

    await proxy.mend();
    await eventually('served again', async () => (await acmery.api('/v1/audit_events', headers)).status === 200);
    await acmery.untilReady();
    const { stderr } = await acmery.stop('SIGTERM');
    const times = (message: string) => stderr.split('\n').filter((line) => line.includes(`"${message}"`)).length;
    expect(times('the database does not answer; trying again with back-off')).toBe(1);
    expect(times('the database answers')).toBe(1);
  });

  test('a stop while it waits for the database ends with 0', async () => {
    const proxy = await TcpProxy.to({ host: '127.0.0.1', port: 1 });
    const env = { DATABASE_URL: `postgres://nobody@127.0.0.1:${proxy.port}/none` };
    const acmery = await serveAcmery(await aDataDir(), [], { env });
    await eventually('readiness answers', () =>
      acmery.ready().then(
        () => true,
        () => false,
      ),
    );

    expect(await acmery.stop('SIGTERM')).toMatchObject({ code: 0 });
  });

  test('a schema of a newer release is refused with what to do', async () => {
    await using own = await testDatabase();
    const { sql } = await import('kysely');
    await sql`insert into acmery_migrations (name, timestamp) values ('9999-future', '2030-01-01')`.execute(own.db.db);

    const { code, stderr } = await runAcmery(
      [
        'serve',
        '--data-dir',
        await aDataDir(),
        '--acme-listen',
        '127.0.0.1:0',
        '--api-listen',
        '127.0.0.1:0',
        '--http-listen',
        '127.0.0.1:0',
        '--ops-listen',
        '127.0.0.1:0',
        '--log-level',
        'error',
      ],
      {
        env: { DATABASE_URL: own.url },
      },
    );

    expect(code).toBe(1);
    expect(stderr).toMatch(/9999-future.*Start the release that migrated the database/);
  });
});

describe('one line each, and no start', () => {
  const refusal = async (args: readonly string[], options = {}): Promise<{ code: number | null; lines: string[] }> => {
    const { code, stderr } = await runAcmery(['serve', '--log-level', 'error', ...args], options);
    return { code, lines: stderr.trim().split('\n') };
  };
  const anyPorts = ['acme', 'api', 'http', 'ops'].flatMap((door) => [`--${door}-listen`, '127.0.0.1:0']);

  test('a port that is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : 0;

    const { code, lines } = await refusal(['--data-dir', await aDataDir(), '--ops-listen', `127.0.0.1:${port}`]);

    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringMatching(/^acmery: ACMERY_OPS_LISTEN: .* is in use by another program/)]);
  });

  test('a data folder that another process holds', async () => {
    const dataDir = await aDataDir();
    await using first = await serveAcmery(dataDir);
    await first.untilReady();

    const { code, lines } = await refusal(['--data-dir', dataDir, ...anyPorts]);

    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringContaining(`is in use by another acmery process (pid ${first.child.pid}`)]);
  });

  test('a data folder that cannot be written', async ({ skip }) => {
    if (!isRoot) skip('only root can start a process as somebody else');
    const dataDir = await aDataDir();

    const { code, lines } = await refusal(['--data-dir', dataDir, ...anyPorts], { uid: NOBODY });

    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringContaining('set ACMERY_DATA_DIR to another folder')]);
  });

  test('a damaged embedded database', async () => {
    const dataDir = await aDataDir();
    const first = await serveAcmery(dataDir);
    await first.untilReady();
    await first.stop('SIGINT');
    await writeFile(join(dataDir, 'postgres/cluster/global/pg_control'), 'nonsense');

    const { code, lines } = await refusal(['--data-dir', dataDir, ...anyPorts]);

    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringMatching(/is damaged: restore the folder from a backup, or move it away/)]);
  });

  test('settings that are wrong, all of them', async () => {
    const { code, lines } = await refusal(['--database-pool', 'many'], { env: { ACMERY_DATADIR: 'x' } });

    expect(code).toBe(2);
    expect(lines).toEqual([
      'ACMERY_DATADIR: there is no such setting (did you mean ACMERY_DATA_DIR?).',
      '--database-pool: expected a whole number from 2 to 200, got "many".',
    ]);
  });

  test('TLS files that do not fit', async () => {
    await using own = await testDatabase();
    const dataDir = await aDataDir();
    await mkdir(join(dataDir, 'own'));
    const file = join(dataDir, 'own/tls.crt');
    await writeFile(file, 'not a certificate');

    const { code, lines } = await refusal(
      ['--data-dir', dataDir, '--tls-cert-file', file, '--tls-key-file', file, ...anyPorts],
      { env: { DATABASE_URL: own.url } },
    );

    expect(code).toBe(1);
    expect(lines).toEqual([expect.stringContaining('the certificate file holds no PEM certificate')]);
  });
});
