// What is shipped: how large it is, how soon the bundle serves on a database that is there, and the memory it then holds.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Program, serveAcmery } from '../support/acmery-process.ts';
import { filesBelow } from '../support/files-below.ts';
import { runScript } from '../support/package-setup.ts';
import { findBinaries } from '../support/plane/binaries.ts';
import { benchPostgres, temporaryFolder } from './acme/server.ts';
import { builtBundle } from './bundle.ts';
import { type Figure, spread } from './figure.ts';
import { residentMb } from './operator/observed.ts';
import { openWorld } from './operator/world.ts';
import { usageOf } from './process-usage.ts';

const RUNS = 7;
const IDLE_MS = 3_000;

export async function benchPackage(): Promise<readonly Figure[]> {
  await using scope = new AsyncDisposableStack();
  const folder = await temporaryFolder(scope, 'package');
  const bundle = await builtBundle(folder);
  await runScript('image.ts', 'build', join(folder, 'image'));
  return [
    ...(await sizes(folder)),
    ...(await starts(scope, folder, bundle)),
    await inCluster(bundle).catch((error: Error) => ({
      what: ALL_ROLES,
      measured: '-',
      goal: `skipped, ${error.message}`,
    })),
  ];
}

async function sizes(folder: string): Promise<readonly Figure[]> {
  const files = await filesBelow(join(folder, 'image'));
  const content = files.reduce((sum, { path, bytes }) => sum + (path.endsWith('/bin/node') ? 0 : bytes), 0);
  const { size } = await stat(join(folder, 'package/main.js'));
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  return [
    { what: 'the bundle, without its source map', measured: megabytes(size), goal: '' },
    { what: 'content of the image, unpacked, without Node', measured: megabytes(content), goal: 'goal 120 MB' },
  ];
}

/** Of the server role. */
async function starts(scope: AsyncDisposableStack, folder: string, program: Program): Promise<readonly Figure[]> {
  const { url } = await benchPostgres(scope, folder);
  const env = { DATABASE_URL: url, HOME: folder };
  const seconds: number[] = [];
  const cpuMs: number[] = [];
  const rss: number[] = [];
  // The first makes schema and serving CA, and leaves compiled code for the others.
  for (let run = 0; run <= RUNS; run++) {
    const begun = performance.now();
    await using acmery = await serveAcmery(join(folder, 'data'), ['--roles', 'server'], { program, env });
    await acmery.untilReady();
    if (run > 0) {
      seconds.push((performance.now() - begun) / 1_000);
      cpuMs.push((usageOf(acmery.child.pid ?? 0)?.cpuSeconds ?? Number.NaN) * 1_000);
      await pause(IDLE_MS);
      rss.push(await residentMb(acmery));
    }
    await acmery.stop('SIGTERM');
  }
  return [
    { what: 'bundle to ready, server role, existing database', measured: spread(seconds, 's'), goal: 'goal 0.7 s' },
    { what: 'processor time of that', measured: spread(cpuMs, 'ms', 0), goal: '' },
    { what: 'resident memory, server role, idle for 3 s', measured: spread(rss, 'MB', 0), goal: 'goal 110 MB' },
  ];
}

const ALL_ROLES = 'resident memory, all roles in a cluster, idle for 3 s';

async function inCluster(program: Program): Promise<Figure> {
  const binaries = await findBinaries((sentence) => console.log(`  ${sentence}`));
  await using world = await openWorld(binaries, []);
  const rss: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    await using acmery = await world.start([], {}, program);
    await acmery.untilReady();
    await pause(IDLE_MS);
    rss.push(await residentMb(acmery));
    await acmery.stop('SIGTERM');
  }
  return { what: ALL_ROLES, measured: spread(rss, 'MB', 0), goal: 'goal 190 MB' };
}
