// Links in the folders of the launcher: whoever may write there must not lead a start by root to other files.
import { spawn } from 'node:child_process';
import { chmod, link, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Layout, layoutOf } from '../../src/postgres/layout.ts';
import { stopLeftover } from '../../src/postgres/leftover.ts';
import { FolderLock } from '../../src/postgres/lock.ts';
import { giveTo } from '../../src/postgres/run-as.ts';

const ordinaryUid = 1;
// A process that lives and is no Postgres.
const sleeper = spawn('sleep', ['60'], { stdio: 'ignore' });
const text = `${sleeper.pid}\nthe rest of the file\n`;

let layout: Layout;
let elsewhere: string;
const folders: string[] = [];

beforeEach(async () => {
  const root = await mkdtemp(join(tmpdir(), 'acmery-links-'));
  folders.push(root);
  layout = layoutOf(root);
  elsewhere = join(root, 'elsewhere');
  await mkdir(layout.cluster, { recursive: true });
  await writeFile(elsewhere, text);
});

afterAll(async () => {
  sleeper.kill();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

test.each([
  ['a symbolic link', symlink],
  ['a hard link', link],
])('a pid file that is %s is not written through', async (_kind, make) => {
  await make(elsewhere, join(layout.cluster, 'postmaster.pid'));

  await stopLeftover(layout);

  expect(await readFile(elsewhere, 'utf8')).toBe(text);
});

test('a plain pid file of another program is given our own number, and keeps its other lines', async () => {
  const pidFile = join(layout.cluster, 'postmaster.pid');
  await writeFile(pidFile, text);

  await stopLeftover(layout);

  expect(await readFile(pidFile, 'utf8')).toBe(text.replace(/^\d+/, String(process.pid)));
});

test('a link in the place of the lock is refused', async () => {
  await symlink(elsewhere, layout.lock);

  await expect(FolderLock.take(layout)).rejects.toThrow('ELOOP');
});

test('a link in the place of the name of the holder is replaced, not written through', async () => {
  await symlink(elsewhere, layout.holder);

  using _lock = await FolderLock.take(layout);

  expect(await readFile(elsewhere, 'utf8')).toBe(text);
  expect(await readFile(layout.holder, 'utf8')).toMatch(/^pid \d+ on /);
});

test('giving a link away leaves what it leads to with its owner', async ({ skip }) => {
  if (process.getuid?.() !== 0) skip('only root can give files away');
  await chmod(elsewhere, 0o600);
  const path = join(layout.cluster, 'postgresql.conf');
  await symlink(elsewhere, path);

  await giveTo({ user: { uid: ordinaryUid, gid: ordinaryUid } }, path);

  expect((await stat(elsewhere)).uid).toBe(0);
});
