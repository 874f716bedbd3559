// Makes the binaries of the embedded package runnable: npm packs no links, drops modes, and may install where we cannot go.
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const notPermitted = new Set(['EACCES', 'EPERM', 'EROFS']);
const ignored = /\.a$|pkgconfig/;

/**
 * Runs the package in place where that works, else from a copy in the first of `cacheFolders` that the user of the cluster
 * reaches. `check` says what it finds in a folder of programs, or as text why that cannot be run.
 */
export async function prepareEmbedded<Found>(
  native: string,
  cacheFolders: readonly string[],
  check: (folder: string) => Promise<Found | string>,
): Promise<Found | string> {
  const inPlace = (await complete(native)) ? await check(join(native, 'bin')) : `${native} is not writable`;
  if (typeof inPlace !== 'string') return inPlace;
  const reasons = [inPlace];
  for (const folder of cacheFolders) {
    const cache = join(folder, await packageVersion(native));
    const copied = await copyInto(native, cache);
    const result = copied ? await check(join(cache, 'bin')) : `${cache} is not ours to write`;
    if (typeof result !== 'string') return result;
    reasons.push(result);
  }
  return reasons.join('; ');
}

/** Adds links and executable bits; false where the folder may not be changed. */
async function complete(native: string): Promise<boolean> {
  try {
    for (const [link, target] of await missingLinks(native)) await symlink(target, link).catch(ignoreExisting);
    for (const program of ['postgres', 'initdb']) {
      const path = join(native, 'bin', program);
      if (((await stat(path)).mode & 0o111) !== 0o111) await chmod(path, 0o755);
    }
    return true;
  } catch (error) {
    if (notPermitted.has(codeOf(error))) return false;
    throw error;
  }
}

async function packageVersion(native: string): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8'));
  return version;
}

/** Path of each link that is not there yet, with its target. npm's install script would have made them; it does not run. */
async function missingLinks(native: string): Promise<readonly (readonly [string, string])[]> {
  const listed: unknown = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'));
  const rows: readonly { source: string; target: string }[] = Array.isArray(listed) ? listed : [];
  const libraries = await readdir(join(native, 'lib'));
  const wanted = new Map([
    ...libraries.flatMap(sonameLinks),
    ...rows.map((row) => [basename(row.target), basename(row.source)] as const),
  ]);
  return [...wanted]
    .filter(([link]) => !libraries.includes(link))
    .map(([link, target]) => [join(native, 'lib', link), target]);
}

/** macOS libraries ask for each other by the shorter name: libz.1.3.2.dylib is wanted as libz.1.3.dylib and libz.1.dylib. */
function sonameLinks(library: string): readonly (readonly [string, string])[] {
  const [, stem, version] = /^(lib[^.]+)\.([\d.]+)\.dylib$/.exec(library) ?? [];
  const parts = version?.split('.') ?? [];
  return parts.slice(1).map((_, index) => [`${stem}.${parts.slice(0, index + 1).join('.')}.dylib`, library]);
}

/**
 * Brings a copy up to date, file by file and each by a rename, so that several processes may do it at once and a copy that
 * a cleaner of temporary files has been through is whole again. False when the folder is not ours alone to write.
 */
async function copyInto(native: string, cache: string): Promise<boolean> {
  try {
    await mkdir(dirname(cache), { recursive: true, mode: 0o755 });
    const folder = await lstat(dirname(cache));
    if (!folder.isDirectory() || folder.uid !== process.getuid?.() || (folder.mode & 0o022) !== 0) return false;
    await copyTree(native, cache);
    return await complete(cache);
  } catch (error) {
    if (notPermitted.has(codeOf(error)) || codeOf(error) === 'ENOSPC') return false;
    throw error;
  }
}

async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o755 });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (ignored.test(entry.name)) continue;
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isFile()) await copyChanged(source, target);
  }
}

async function copyChanged(source: string, target: string): Promise<void> {
  const [wanted, present] = await Promise.all([stat(source), stat(target).catch(() => undefined)]);
  if (present?.size === wanted.size) return;
  const partial = join(dirname(target), `.${basename(target)}.${process.pid}`);
  await copyFile(source, partial);
  await chmod(partial, 0o755);
  await rename(partial, target);
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '');
