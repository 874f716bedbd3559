// From the start of `npm start` to ready: with a new data folder, and with one that is there; and the memory that it then holds.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Figure, spread } from './figure.ts';

const RUNS = 5;
const DEADLINE_MS = 30_000;
const POLL_MS = 5;
const IDLE_MS = 3_000;

type Start = { readonly seconds: number; readonly rssMb: number };

export async function benchStart(): Promise<readonly Figure[]> {
  const first: Start[] = [];
  const later: Start[] = [];
  for (let run = 0; run < RUNS; run++) {
    const dataDir = await mkdtemp(join(tmpdir(), 'acmery-bench-'));
    try {
      first.push(await start(dataDir, 0));
      later.push(await start(dataDir, run === 0 ? IDLE_MS : 0));
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  }
  return [
    {
      what: 'npm start to ready, new embedded database',
      measured: spread(
        first.map(({ seconds }) => seconds),
        's',
      ),
      goal: 'goal 2.5 s',
    },
    {
      what: 'npm start to ready, existing database',
      measured: spread(
        later.map(({ seconds }) => seconds),
        's',
      ),
      goal: 'goal 1.5 s, aim 1.0 s',
    },
    {
      what: 'resident memory, idle for 3 s after start',
      measured: `${later[0]?.rssMb.toFixed(0)} MB`,
      goal: 'goal 130 MB',
    },
  ];
}

async function start(dataDir: string, idleMs: number): Promise<Start> {
  const opsPort = 20_000 + (process.pid % 10_000);
  const begun = performance.now();
  const child = spawn(
    'npm',
    [
      'start',
      '--silent',
      '--',
      '--data-dir',
      dataDir,
      '--acme-listen',
      '127.0.0.1:0',
      '--api-listen',
      '127.0.0.1:0',
      '--http-listen',
      '127.0.0.1:0',
      '--ops-listen',
      `127.0.0.1:${opsPort}`,
    ],
    {
      stdio: 'ignore',
    },
  );
  const exited = once(child, 'exit');
  while (!(await isReady(opsPort))) {
    if (performance.now() - begun > DEADLINE_MS) throw new Error('acmery did not become ready');
    await pause(POLL_MS);
  }
  const seconds = (performance.now() - begun) / 1_000;
  await pause(idleMs);
  const rssMb = await residentMegabytes(opsPort);
  child.kill('SIGINT');
  await exited;
  return { seconds, rssMb };
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    (reply) => reply.ok,
    () => false,
  );

/** As the process itself reports it. */
async function residentMegabytes(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]) / 1e6;
}
