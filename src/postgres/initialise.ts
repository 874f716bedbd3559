// Makes a new, empty cluster, whole or not at all.
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import { damaged, explainOutput, PostgresError } from './failure.ts';
import type { Layout } from './layout.ts';
import { writePrivate } from './private-file.ts';
import { runProgram } from './program.ts';
import { dataPath, giveTo, type RunAs } from './run-as.ts';

/** The one database role: it owns everything. */
export const roleName = 'acmery';

/**
 * Where a server of ours on this port is reached: by its socket where there is one, else over the loopback interface, where
 * any user of the machine may listen while ours does not run.
 */
export const localUrl = (port: number, password: string, socketFolder?: string): string =>
  `postgres://${roleName}:${password}@127.0.0.1:${port}/postgres?sslmode=disable&require_auth=scram-sha-256` +
  (socketFolder === undefined ? '' : `&host=${encodeURIComponent(socketFolder)}`);

/** The major version that made the cluster, which alone can open it; undefined when there is no cluster yet. */
export async function clusterMajor(layout: Layout): Promise<number | undefined> {
  if ((await unlessMissing(stat(layout.cluster))) === undefined) return undefined;
  const text = await unlessMissing(readFile(join(layout.cluster, 'PG_VERSION'), 'utf8'));
  if (text === undefined || !/^\d+\n?$/.test(text)) {
    throw new PostgresError(damaged(layout.cluster), new Error('PG_VERSION does not hold a version.'));
  }
  return Number(text);
}

/**
 * initdb in a folder beside, then one rename: a kill at any moment leaves no half-made cluster. Nothing is flushed to the
 * disk here (that takes longer than all else): a power cut within seconds of the very first start can lose the new cluster.
 */
export async function initialise(
  layout: Layout,
  binaries: Binaries,
  runAs: RunAs,
  signal: AbortSignal | undefined,
): Promise<void> {
  await rm(layout.staging, { recursive: true, force: true });
  await mkdir(layout.staging, { mode: 0o700 });
  await giveTo(runAs, layout.staging);
  const passwordFile = join(layout.home, 'password.initdb');
  await writePrivate(passwordFile, await knownOrNewPassword(layout), runAs.user);
  try {
    await runInitdb(layout, binaries, runAs, signal);
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(layout.staging, layout.cluster);
}

export async function readPassword(layout: Layout): Promise<string> {
  const password = await unlessMissing(readFile(layout.password, 'utf8'));
  if (password !== undefined) return password;
  throw new PostgresError(
    `${layout.password}, the password of the database in ${layout.cluster}, is missing: restore it from a backup, or move the database away to start with an empty one.`,
  );
}

async function runInitdb(layout: Layout, binaries: Binaries, runAs: RunAs, signal: AbortSignal | undefined) {
  const data = dataPath(runAs, layout.staging);
  const args = [
    ...['-D', data, `--username=${roleName}`, '--auth=scram-sha-256', `--pwfile=${data}/../password.initdb`],
    ...['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'],
  ];
  const { ok, output, cause } = await runProgram(join(binaries.folder, 'initdb'), args, {
    runAs,
    folder: layout.staging,
    timeout: 120_000,
    ...(signal && { signal }),
  });
  signal?.throwIfAborted();
  if (!ok) throw explainOutput(layout.cluster, output, { cause });
}

async function knownOrNewPassword(layout: Layout): Promise<string> {
  const known = await unlessMissing(readFile(layout.password, 'utf8'));
  if (known !== undefined && known !== '') return known;
  const password = randomBytes(24).toString('base64url');
  await writePrivate(layout.password, password);
  return password;
}

async function unlessMissing<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
