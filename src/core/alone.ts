// Duties that one replica at a time sees to.
import { whileAlone } from '../store/alone.ts';
import type { Ca } from './ca.ts';

/** Runs the duty, unless another replica is at it. */
export const runAlone = async (ca: Ca, name: string, duty: (ca: Ca) => Promise<void>): Promise<void> => {
  await whileAlone(ca.database.db, name, () => duty(ca));
};
