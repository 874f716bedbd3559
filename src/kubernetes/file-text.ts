// A file that others replace while the program runs: read again once it is another one.
import { readFileSync, type Stats, statSync } from 'node:fs';

/** Gives the text as it is now; asking costs a look at the file only. Throws the errors of the file system. */
export function fileText(path: string): () => string {
  let seen: Stats | undefined;
  let text = '';
  return () => {
    const now = statSync(path);
    if (seen === undefined || !isSame(seen, now)) {
      text = readFileSync(path, 'utf8');
      seen = now;
    }
    return text;
  };
}

const isSame = (one: Stats, other: Stats): boolean =>
  one.mtimeMs === other.mtimeMs && one.ino === other.ino && one.dev === other.dev && one.size === other.size;
