// `tls/ca.crt`: the trust anchors of our own HTTPS, where people and their clients find them.
import { randomBytes } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Whole or not at all: a client that reads while we write sees the old anchors or the new ones. */
export async function writeAnchors(file: string, anchors: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o755 });
  const staged = `${file}.${randomBytes(4).toString('hex')}`;
  await writeFile(staged, anchors, { mode: 0o644 });
  await rename(staged, file);
}
