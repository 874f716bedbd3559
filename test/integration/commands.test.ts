// The commands beside serve: what they print, and how they end.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runAcmery } from '../support/acmery-process.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

let database: TestDatabase;
let dataDir: string;

beforeAll(async () => {
  database = await testDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'acmery-commands-'));
});

afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true, force: true });
});

const acmery = (...args: string[]) =>
  runAcmery([...args, '--data-dir', dataDir], { env: { DATABASE_URL: database.url } });

describe('token', () => {
  test('is made, listed and revoked', async () => {
    const made = await acmery(
      'token',
      'create',
      '--name',
      'ci',
      '--permission',
      'write',
      '--expires',
      '90d',
      '--output',
      'json',
    );
    const { token, id } = JSON.parse(made.stdout);
    const listed = await acmery('token', 'list', '--output', 'json');
    const revoked = await acmery('token', 'revoke', id);
    const again = await acmery('token', 'revoke', id);

    expect(token).toMatch(/^acmery_[\w-]{43}$/);
    expect(JSON.parse(listed.stdout)).toContainEqual(
      expect.objectContaining({ id, name: 'ci', permission: 'write', state: 'valid', last_used_on: null }),
    );
    expect(listed.stdout).not.toContain(token);
    expect(revoked).toMatchObject({ code: 0, stdout: `Token ${id} (ci) is revoked.\n` });
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is revoked already') });
  });

  test('alone on standard output, so that a shell can keep it', async () => {
    const { stdout, stderr } = await acmery('token', 'create', '--name', 'me', '--permission', 'admin');

    expect(stdout).toMatch(/^acmery_[\w-]{43}\n$/);
    expect(stderr).toContain('shown this once');
  });

  test.each([
    ['a permission that does not exist', ['create', '--name', 'x', '--permission', 'root'], 2, 'read, write, admin'],
    ['no name', ['create', '--permission', 'read'], 2, '--name'],
    ['an empty name', ['create', '--name', ' ', '--permission', 'read'], 1, '1-200 characters'],
    ['a bad lifetime', ['create', '--name', 'x', '--permission', 'read', '--expires', 'soon'], 1, '30d'],
    ['an unknown id', ['revoke', 'atok_00000000000000000000000000'], 1, 'token list'],
  ])('with %s is refused', async (_what, args, code, words) => {
    const ended = await acmery('token', ...args);

    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(words);
    expect(ended.stderr).not.toMatch(/\n\s+at /);
  });
});

test('a command on a database without our schema says what to do first', async () => {
  await sql`create schema without_tables`.execute(database.db.db);
  const url = new URL(database.url);
  url.searchParams.set('options', '-c search_path=without_tables');

  const { code, stderr } = await runAcmery(['token', 'list', '--data-dir', dataDir], {
    env: { DATABASE_URL: url.href },
  });

  expect(code).toBe(1);
  expect(stderr).toMatch(/^acmery: The database lacks \d+ migrations .* run `acmery migrate` first\.\n$/);
});

describe('migrate', () => {
  test('says what the schema is', async () => {
    expect(await acmery('migrate')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^The schema is up to date \(0/),
    });
  });
});

describe('doctor', () => {
  test('finds nothing wrong where nothing is', async () => {
    const { code, stdout } = await acmery(
      'doctor',
      '--output',
      'json',
      '--acme-listen',
      '127.0.0.1:0',
      '--api-listen',
      '127.0.0.1:0',
      '--http-listen',
      '127.0.0.1:0',
      '--ops-listen',
      '127.0.0.1:0',
    );

    const findings: { check: string; outcome: string }[] = JSON.parse(stdout);
    expect(findings.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect(findings.map(({ check }) => check)).toEqual([
      'node',
      'data folder',
      'keys',
      'database',
      'schema',
      'CA keys',
      'clock',
      'serving certificate',
      'listeners',
      'manifests',
      'cluster',
    ]);
    expect(code).toBe(0);
  });

  test('says what to do about a database that is away and a cluster that does not answer', async () => {
    const { code, stdout } = await runAcmery(['doctor', '--data-dir', dataDir, '--kubeconfig', '/no/such/kubeconfig'], {
      env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
    });

    expect(code).toBe(1);
    expect(stdout).toMatch(/\[FAILED\] {2}database: Postgres at 127\.0\.0\.1:1 does not accept connections/);
    expect(stdout).toMatch(/\[FAILED\] {2}cluster: .*\/no\/such\/kubeconfig/);
  });
});

describe('doctor, where objects are declared', () => {
  test('a folder is in the place of the cluster, and is read', async () => {
    const manifests = await mkdtemp(join(tmpdir(), 'acmery-doctor-'));
    onTestFinished(() => rm(manifests, { recursive: true, force: true }));
    await writeFile(join(manifests, 'a.yaml'), '{}');
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', KUBECONFIG: '/no/such/kubeconfig' };
    const looked = (...more: readonly string[]) =>
      runAcmery(['doctor', '--data-dir', dataDir, '--manifests', ...more], { env });

    const { stdout } = await looked(manifests);
    expect(stdout).toContain(`[ok]      manifests: 1 files can be read in ${manifests}`);
    expect(stdout).toContain(`[skipped] cluster: the folder ${manifests} is in its place`);
    expect(stdout).toMatch(/\[ok\] {6}keys: .*\/keys/);
    expect((await looked('/no/such/folder')).stdout).toMatch(/\[FAILED\] {2}manifests: \/no\/such\/folder: ENOENT/);
  });
});

describe('the command line', () => {
  test('help names every setting and ends with 0', async () => {
    const { code, stdout } = await runAcmery(['serve', '--help']);

    expect(code).toBe(0);
    expect(stdout).toContain('--data-dir');
    expect(stdout).toContain('ACMERY_API_LISTEN');
  });

  test('help lists the options of a command before the settings', async () => {
    const { stdout } = await runAcmery(['token', 'create', '--help']);

    expect(stdout.indexOf('--permission')).toBeLessThan(stdout.indexOf('--data-dir'));
  });

  test.each([
    ['the name of a command that has commands of its own', ['token'], 2],
    ['the word help', ['help'], 0],
  ])('%s alone lists the commands', async (_what, args, code) => {
    const ended = await runAcmery(args);

    expect(ended.code).toBe(code);
    expect(ended.stdout + ended.stderr).toContain('Commands:');
  });

  test.each([
    ['an unknown command', ['sevre'], 'serve'],
    ['an unknown option', ['serve', '--prot', '1'], '--prot'],
  ])('%s ends with 2', async (_what, args, words) => {
    const { code, stderr } = await runAcmery(args);

    expect(code).toBe(2);
    expect(stderr).toContain(words);
    expect(stderr).toMatch(/^acmery: /);
  });
});
