// Waits until what a folder declares has been looked at, so that what is told then is true.
import { setTimeout as pause } from 'node:timers/promises';
import { kindNames, type Resource } from '../resources/resource.ts';
import type { App } from './app.ts';

const LOOK_MS = 50;
const PATIENCE_MS = 15_000;

/** Not for ever: an object may wait for something that never comes. */
export async function untilVisited({ world }: App, signal: AbortSignal): Promise<void> {
  const source = world.declared?.source;
  if (source === undefined) return;
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  try {
    await source.synced(patience);
    while (!kindNames.flatMap((kind) => source.list(kind)).every(isSettled)) {
      await pause(LOOK_MS, undefined, { signal: patience });
    }
  } catch (error) {
    if (!patience.aborted) throw error;
  }
}

const isSettled = ({ status }: Resource): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => value === 'True' && ['Ready', 'Stalled'].includes(type));
