// The folder outside the repository in which programs of the plane are kept, and the lock that lets one run fill it.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Kept between runs; `XDG_CACHE_HOME` moves it. */
export const cacheFolder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'acmery-plane');

/** Waits while another process of this machine holds the lock; one that ended without releasing it holds it no more. */
export async function withCacheLock<T>(tell: (sentence: string) => void, work: () => Promise<T>): Promise<T> {
  const lock = join(cacheFolder, 'lock');
  await mkdir(cacheFolder, { recursive: true });
  for (let hasTold = false; !(await take(lock)); await pause(500)) {
    const holder = Number(await readFile(lock, 'utf8').catch(() => ''));
    if (holder > 0 && !isRunning(holder)) await rm(lock, { force: true });
    else if (!hasTold) {
      tell(`waiting for process ${holder}, which fills ${cacheFolder}`);
      hasTold = true;
    }
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, `${process.pid}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is one too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
