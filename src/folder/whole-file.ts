// Files that are there whole or not at all.
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Who reads it never sees half of it, also after a crash. */
export async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const unfinished = join(dirname(path), `.unfinished-${randomBytes(6).toString('hex')}`);
  try {
    {
      await using file = await open(unfinished, 'wx', mode);
      await file.writeFile(text);
      await file.sync();
    }
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
}
