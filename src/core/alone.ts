// Duties that one replica at a time sees to.
import { whileAlone } from '../store/alone.ts';
import type { Ca } from './ca.ts';

/** Runs the duty, unless another replica is at it: then false. */
export const runAlone = (ca: Ca, name: string, duty: (ca: Ca) => Promise<void>): Promise<boolean> =>
  whileAlone(ca.database.db, name, () => duty(ca));
