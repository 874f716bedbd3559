// Deals with what an earlier process left behind when it was killed: a postmaster that still runs, or only its pid file.
//
// A survivor is stopped, not adopted: it is not our child, so its end would go unnoticed, its messages go nowhere, and it
// runs with the settings and the port of another start. A fast shutdown takes some 20 ms when nobody is connected.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PostgresError } from './failure.ts';
import type { Layout } from './layout.ts';
import { readPlain, writePrivate } from './private-file.ts';
import { runProgram } from './program.ts';

const PAUSE_MS = 25;

/** Each signal in turn, with the time it is given: fast, then immediate, then the kernel's way. All are crash-safe. */
const stopSteps = [
  ['SIGINT', 10_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
] as const;

/** To be called with the lock of the folder held, so that nobody else has a right to run Postgres on it. */
export async function stopLeftover(layout: Layout): Promise<void> {
  const pidFile = join(layout.cluster, 'postmaster.pid');
  const file = await readPlain(pidFile);
  const pid = Number.parseInt(file?.text ?? '', 10);
  if (file === undefined || !Number.isInteger(pid) || pid <= 1 || !isAlive(pid)) return;
  if (await isPostmasterOf(layout.cluster, pid)) return stopPostmaster(layout, pid);
  // The number was given to another program meanwhile (likely in a container, where each start counts from 1 again), and
  // Postgres would take that one for a server. It ignores its parent's pid, so it is given ours; the other lines must stay,
  // because Postgres finds orphaned back ends by the shared memory named there.
  await writePrivate(
    pidFile,
    file.text.replace(/^\d+/, String(process.pid)),
    process.getuid?.() === 0 ? file : undefined,
  );
}

async function stopPostmaster(layout: Layout, pid: number): Promise<void> {
  for (const [signal, timeoutMs] of stopSteps) {
    send(pid, signal);
    for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs += PAUSE_MS) {
      if (!isAlive(pid) || !(await isPostmasterOf(layout.cluster, pid))) return;
      await pause(PAUSE_MS);
    }
  }
  throw new PostgresError(`A Postgres server of an earlier run (pid ${pid}) does not stop: end it and start again.`);
}

/** A postmaster works in its data folder: on Linux that is compared, elsewhere its command line names the folder. */
async function isPostmasterOf(cluster: string, pid: number): Promise<boolean> {
  if (process.platform === 'linux') {
    const [here, there] = await Promise.all([stat(cluster), stat(`/proc/${pid}/cwd`).catch(() => undefined)]);
    return here.ino === there?.ino && here.dev === there.dev;
  }
  const { output } = await runProgram('ps', ['-o', 'command=', '-p', String(pid)], {
    runAs: {},
    timeout: 5_000,
  });
  return output.includes(cluster);
}

function isAlive(pid: number): boolean {
  return send(pid, 0);
}

/** False when there is no such process. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
