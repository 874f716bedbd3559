// Random bytes in small pieces: asking the system for a few costs more than all else that is done with them.
import { randomBytes } from 'node:crypto';

const PIECES = 500;

/** Each call gives `size` random bytes; none are given twice. */
export function randomPieces(size: number): () => Buffer {
  let pool = Buffer.alloc(0);
  let given = 0;
  return () => {
    if (given === pool.length) {
      pool = randomBytes(size * PIECES);
      given = 0;
    }
    given += size;
    return pool.subarray(given - size, given);
  };
}
