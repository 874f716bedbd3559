// Starts the bundle: a Node that is too old gets one clear line, stack traces name the sources, and compiled code is kept.
import { mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 12)) {
  console.error(`acmery needs Node 24.12 or newer; this is ${process.versions.node} (${process.execPath}).`);
  process.exitCode = 1;
} else {
  const cache = process.env.NODE_COMPILE_CACHE ?? ownCache();
  if (cache !== undefined) module.enableCompileCache(cache);
  process.setSourceMapsEnabled(true);
  await import(new URL('main.js', import.meta.url).href);
}

/**
 * A folder of this user alone: who can write there decides what runs, so that Node's usual place below /tmp, where others
 * may be first, will not do. Without one nothing is kept.
 */
function ownCache(): string | undefined {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'acmery');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    if (process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)) return folder;
  } catch {
    // No home, or one that cannot be written.
  }
  return undefined;
}
