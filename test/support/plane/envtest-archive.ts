// The archive of etcd, kube-apiserver and kubectl that the Kubernetes project publishes for tests, by pinned checksum.
import { createHash } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { fetch } from 'undici';
import { run } from '../../e2e/run.ts';
import { cacheFolder } from './cache.ts';

const VERSION = '1.36.2';
const DOWNLOAD_DEADLINE_MS = 300_000;

const sha512: Readonly<Record<string, string>> = {
  'linux-amd64':
    'ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08',
  'linux-arm64':
    '2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac',
};

const machine = `${platform()}-${arch() === 'x64' ? 'amd64' : arch()}`;

/** Where the programs are once `downloadArchive` has been there. */
export const archiveFolder = join(cacheFolder, `envtest-${VERSION}-${machine}`);

/** Throws when there is none for this machine, when it cannot be had, or when it is not the one that was looked at. */
export async function downloadArchive(tell: (sentence: string) => void): Promise<void> {
  const expected = sha512[machine];
  if (expected === undefined) throw new Error(`there is no checksum for ${machine}`);
  const name = `envtest-v${VERSION}-${machine}.tar.gz`;
  const url = `https://github.com/kubernetes-sigs/controller-tools/releases/download/envtest-v${VERSION}/${name}`;
  tell(`downloading ${url}`);
  const archive = await download(url);
  const actual = createHash('sha512').update(archive).digest('hex');
  if (actual !== expected) throw new Error(`${url} has the SHA-512 ${actual}, not ${expected}`);

  const half = `${archiveFolder}.half`;
  await rm(half, { recursive: true, force: true });
  await mkdir(half, { recursive: true });
  await writeFile(join(half, name), archive);
  await run({ program: 'tar', args: ['-xzf', name, '--strip-components=2'], cwd: half });
  await rm(join(half, name));
  await rename(half, archiveFolder);
}

async function download(url: string): Promise<Buffer> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_DEADLINE_MS) });
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    return Buffer.from(await reply.arrayBuffer());
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${url} cannot be had (${cause instanceof Error ? cause.message : cause})`, { cause: error });
  }
}
