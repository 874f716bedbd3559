// A watch of the API server: its events in the order in which they come, and an error when they stop coming.
import type { ClusterRequests } from './client.ts';
import { ClusterError, errorOfEvent } from './cluster-error.ts';
import type { KubernetesObject } from './kubernetes-object.ts';

export type WatchEvent = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: KubernetesObject;
};

type WatchOptions = {
  readonly signal: AbortSignal;
  readonly inactivityMs: number;
  readonly accept?: string | undefined;
};

type Line = WatchEvent | { readonly type: 'ERROR'; readonly object: unknown };

/**
 * The events that came together, at most one read of the socket's worth, so that nobody else waits long while they are
 * parsed. Ends when the server ends it. Throws ClusterError, `Timeout` after `inactivityMs` of silence, or the signal's reason.
 */
export async function* watch(
  cluster: ClusterRequests,
  path: string,
  { signal, inactivityMs, accept }: WatchOptions,
): AsyncGenerator<readonly WatchEvent[]> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), inactivityMs);
  const lines = new LineSplitter();
  try {
    for await (const chunk of cluster.stream(path, AbortSignal.any([signal, silence.signal]), accept)) {
      timer.refresh();
      const events = lines.add(chunk).map((line) => parsed(line, path));
      if (events.length > 0) yield events;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!silence.signal.aborted) throw error;
    throw new ClusterError(0, 'Timeout', `GET ${path}: nothing came from ${cluster.server} for ${inactivityMs} ms.`);
  } finally {
    clearTimeout(timer);
  }
}

class LineSplitter {
  readonly #decoder = new TextDecoder();
  #rest = '';

  /** The lines that this chunk ends. */
  add(chunk: Buffer): readonly string[] {
    const lines = `${this.#rest}${this.#decoder.decode(chunk, { stream: true })}`.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.filter((line) => line !== '');
  }
}

function parsed(text: string, path: string): WatchEvent {
  const line = lineOf(text, path);
  if (line.type === 'ERROR') throw errorOfEvent(`GET ${path}`, line.object);
  return line;
}

function lineOf(text: string, path: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch (cause) {
    throw new ClusterError(0, 'NotKubernetes', `GET ${path}: expected a line of JSON, got something else.`, { cause });
  }
}
