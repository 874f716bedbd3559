// Runs the image's root file system without a container engine: in namespaces of Linux, as its user, with a root that
// nobody can write, and with what else its Dockerfile says.
import { spawnSync } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { imageConfig } from './dockerfile.ts';

export type ImageRun = {
  readonly root: string;
  /** In the place of the Dockerfile's CMD. */
  readonly args?: readonly string[];
  /** In the place of its ENTRYPOINT. */
  readonly entrypoint?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A folder of this machine in the place of the volume; else it is in memory, as /tmp is. */
  readonly data?: string;
};

const devices = ['null', 'zero', 'urandom', 'random'];

/** The command line of a process that becomes the image's own, so that it has its pid and gets its signals. */
export function imageCommand({ root, args, entrypoint, env = {}, data }: ImageRun): readonly string[] {
  const config = imageConfig();
  const environment = { ...config.env, ...env };
  const [program = '', ...fixed] = entrypoint ?? config.entrypoint;
  const started = [inPath(root, environment.PATH ?? '', program), ...fixed, ...(args ?? config.command)];
  const [user = '', group = user] = config.user.split(':');
  const isRoot = process.getuid?.() === 0;
  // Root becomes another user. Anybody else is alone in namespaces of his own, in which he has this number.
  const becoming = isRoot
    ? ['--setuid', user, '--setgid', group]
    : ['--user', `--map-user=${user}`, `--map-group=${group}`];
  const owner = isRoot ? `uid=${user},gid=${group},mode=700` : 'mode=700';
  const script = [
    'set -e',
    'mount --bind "$1" "$1"',
    'for file in hosts resolv.conf; do mount --bind "/etc/$file" "$1/etc/$file"; done',
    'mount -t tmpfs tmpfs "$1/tmp"',
    data === undefined ? `mount -t tmpfs -o ${owner} tmpfs "$1$2"` : 'mount --bind "$3" "$1$2"',
    'mount -t tmpfs -o mode=755 tmpfs "$1/dev"',
    `for device in ${devices.join(' ')}; do : > "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done`,
    'mount --rbind /proc "$1/proc"',
    'mount -o remount,bind,ro "$1"',
    'root=$1; folder=$2; unshare=$(command -v unshare); shift 3',
    `exec env -i "\${@:1:$ENVIRONMENT}" "$unshare" ${becoming.join(' ')} --root="$root" --wd="$folder" "\${@:$((ENVIRONMENT + 1))}"`,
  ].join('\n');
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return [
    'unshare',
    ...(isRoot ? [] : ['--map-root-user']),
    '--mount',
    'env',
    `ENVIRONMENT=${variables.length}`,
    'bash',
    '-c',
    script,
    'image',
    root,
    config.folder,
    data ?? '',
    ...variables,
    ...started,
  ];
}

/** Why images cannot be run here, or undefined. */
export function withoutNamespaces(): string | undefined {
  const own = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  const { status, error, stderr } = spawnSync('unshare', [...own, '--mount', 'true'], { encoding: 'utf8' });
  return status === 0 ? undefined : `no namespaces to run an image in: ${error?.message ?? stderr.trim()}`;
}

/** As a container engine finds it: a name without a slash is looked for in the image's PATH. */
function inPath(root: string, path: string, program: string): string {
  if (program.includes('/')) return program;
  const folder = path.split(delimiter).find((one) => isThere(join(root, one, program)));
  if (folder === undefined) throw new Error(`${program} is not in the image's PATH, ${path}.`);
  return join(folder, program);
}

/** Links are followed in the image, not here. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;
