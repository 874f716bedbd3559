// `acmery serve`: runs until SIGINT or SIGTERM, then lets requests under way finish.
import { setImmediate as logIsWritten } from 'node:timers/promises';
import { startApp } from '../app/app.ts';
import { untilVisited } from '../app/visited.ts';
import type { Settings } from '../config/settings.ts';
import { logFormatOf, logOf } from './log.ts';
import { whatNext } from './what-next.ts';

const stopSignals = ['SIGINT', 'SIGTERM'] as const;
/** How long the echoes of a signal may take to come. */
const ECHO_MS = 500;

export async function serve(settings: Settings): Promise<number> {
  const stopping = stopSignal();
  const stopped = new Promise((resolve) => stopping.addEventListener('abort', resolve));
  const app = await startApp(settings, logOf(settings), stopping).catch((error: unknown) => {
    // Stopped while it was still waiting for the database: an end as good as any.
    if (stopping.aborted) return undefined;
    throw error;
  });
  if (app === undefined) return 0;
  if (!stopping.aborted) {
    if (logFormatOf(settings) === 'text') {
      await untilVisited(app, stopping);
      // What to do next comes last, below the lines that the log has in hand.
      await logIsWritten();
      console.log(await whatNext(app, settings));
    }
    await stopped;
  }
  await app.stop(String(stopping.reason));
  return 0;
}

/**
 * Aborts at the first signal. One Ctrl-C comes several times: from the terminal, and passed on by npm and by the launcher
 * of an old Node. One that comes later finds no handler of ours and ends the process at once.
 */
function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  const stop = (name: NodeJS.Signals): void => {
    stopping.abort(name);
    const echoesOver = (): void => {
      for (const signal of stopSignals) process.off(signal, stop);
    };
    setTimeout(echoesOver, ECHO_MS).unref();
  };
  for (const signal of stopSignals) process.on(signal, stop);
  return stopping.signal;
}
