// The root file system of the image: Node, the libraries it needs, the bundle, and nothing else: no shell, no npm.
import { chmod, chown, copyFile, lstat, lutimes, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { nodeFlags, writeBundle } from './bundle.ts';
import { contentsOf, licencesText } from './contents.ts';
import { sbomText } from './sbom.ts';
import { nodeComponent, packagesOfLibraries, sharedLibraries } from './system-files.ts';

/** Who runs in the image. */
const USER = 65532;
const NODE = '/usr/local/bin/node';
const dataFolder = '/var/lib/acmery';

/** Small files of every system. Those of the network are replaced by whoever runs the image. */
const systemFiles: Readonly<Record<string, string>> = {
  '/etc/passwd': `root:x:0:0:root:/:/sbin/nologin\nacmery:x:${USER}:${USER}:Acmery:${dataFolder}:/sbin/nologin\n`,
  '/etc/group': `root:x:0:\nacmery:x:${USER}:\n`,
  '/etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  '/etc/hosts': '127.0.0.1 localhost\n::1 localhost\n',
  '/etc/resolv.conf': '',
};
const emptyFolders = ['/dev', '/proc', '/sys', '/tmp', dataFolder];

/** Fills an empty folder. Built twice from the same sources it is the same, byte for byte. */
export async function writeImageFiles(root: string): Promise<void> {
  const at = (path: string): string => join(root, path);
  const copy = async (from: string, to: string): Promise<void> => {
    await mkdir(dirname(at(to)), { recursive: true });
    await copyFile(from, at(to));
  };
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), text);
  };
  for (const folder of emptyFolders) await mkdir(at(folder), { recursive: true });
  for (const [path, text] of Object.entries(systemFiles)) await write(path, text);
  await copy('/etc/os-release', '/etc/os-release');
  await copy(process.execPath, NODE);
  const libraries = sharedLibraries();
  for (const path of libraries) await copy(path, path);
  const debian = packagesOfLibraries(libraries);
  for (const { name, record, copyright } of debian) {
    await write(`/var/lib/dpkg/status.d/${name}`, record);
    if (copyright !== undefined) await copy(copyright, copyright);
  }
  // For commands beside the server. Linux hands on one flag there; the Dockerfile's ENTRYPOINT has them all.
  const bundled = await writeBundle(at('/app'), { interpreter: `${NODE} ${nodeFlags[0]}` });
  const packages = await contentsOf(bundled);
  await write('/app/THIRD-PARTY-LICENSES', licencesText(packages));
  await write('/app/sbom.cdx.json', sbomText(packages, [nodeComponent(), ...debian.map(({ component }) => component)]));
  await symlink('/app/acmery.js', at('/usr/local/bin/acmery'));
  await settle(root);
}

const EPOCH_SECONDS = Number(process.env.SOURCE_DATE_EPOCH ?? 0);

/** Modes, owners and times that do not depend on who builds, and when. Only root can give files away. */
async function settle(path: string, inImage = '/'): Promise<void> {
  const found = await lstat(path);
  if (found.isDirectory()) for (const name of await readdir(path)) await settle(join(path, name), join(inImage, name));
  if (!found.isSymbolicLink()) await chmod(path, modeOf(inImage, found.isDirectory(), (found.mode & 0o111) !== 0));
  if (process.getuid?.() === 0 && inImage === dataFolder) await chown(path, USER, USER);
  await lutimes(path, EPOCH_SECONDS, EPOCH_SECONDS);
}

function modeOf(inImage: string, isDirectory: boolean, isProgram: boolean): number {
  if (inImage === '/tmp') return 0o1777;
  if (inImage === dataFolder) return 0o700;
  return isDirectory || isProgram ? 0o755 : 0o644;
}
