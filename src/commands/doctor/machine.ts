// The machine: which Node runs, and whether the data folder can be used.
import { access, constants, mkdir, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Finding, failed, ok, type Patient, warning } from './finding.ts';

const LOW_SPACE_BYTES = 1_000_000_000;

export async function checkNode(): Promise<Finding> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const running = `Node ${process.versions.node} with OpenSSL ${process.versions.openssl} (${process.execPath})`;
  if (major > 24 || (major === 24 && minor >= 12)) return ok(running);
  return failed(running, 'Node 24.12 or newer is needed: start acmery by `npm run`, which brings its own.');
}

export async function checkDataFolder({ settings: { dataDir } }: Patient): Promise<Finding> {
  const folder = resolve(dataDir);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return failed(
      `${folder} cannot be written`,
      'Correct its owner and mode, or set ACMERY_DATA_DIR to another folder.',
    );
  }
  const { bavail, bsize } = await statfs(folder);
  const gigabytes = `${folder} is writable, ${((bavail * bsize) / 1e9).toFixed(1)} GB are free`;
  if (bavail * bsize >= LOW_SPACE_BYTES) return ok(gigabytes);
  return warning(gigabytes, 'Free some space: the database stops when the disk is full.');
}
