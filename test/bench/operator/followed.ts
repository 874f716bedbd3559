// When objects of a collection become ready, as somebody sees it who watches them.
import type { Cluster } from '../../../src/kubernetes/client.ts';
import type { KubernetesObject } from '../../../src/kubernetes/kubernetes-object.ts';
import { pathWithQuery } from '../../../src/kubernetes/list-pages.ts';
import { watch } from '../../../src/kubernetes/watch.ts';

export type Followed = AsyncDisposable & {
  /** Resolves when all of these are ready, with the time at which the last one was. Throws after the deadline. */
  untilReady(names: readonly string[], deadlineMs?: number): Promise<number>;
};

const DEADLINE_MS = 600_000;

/** Resolves when the watch has begun. */
export async function followed(cluster: Cluster, path: string): Promise<Followed> {
  const stop = new AbortController();
  const ready = new Map<string, number>();
  let changed = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const query = { watch: 'true', sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
  const url = pathWithQuery(path, { ...query, allowWatchBookmarks: 'true', timeoutSeconds: '3600' });
  const follow = async (): Promise<void> => {
    for await (const events of watch(cluster, url, { signal: stop.signal, inactivityMs: 2 * DEADLINE_MS })) {
      for (const { type, object } of events) {
        if (type === 'BOOKMARK') begun.resolve();
        else if (isReady(object) && !ready.has(object.metadata.name))
          ready.set(object.metadata.name, performance.now());
      }
      changed.resolve();
      changed = Promise.withResolvers();
    }
  };
  const following = (async () => {
    // The server ends a watch whose reader is slow; what came meanwhile comes again.
    while (!stop.signal.aborted) await follow();
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) begun.reject(error);
  });
  await begun.promise;
  return {
    async untilReady(names, deadlineMs = DEADLINE_MS) {
      const deadline = performance.now() + deadlineMs;
      const missing = new Set(names);
      let last = 0;
      for (;;) {
        for (const name of missing) {
          const at = ready.get(name);
          if (at === undefined) continue;
          missing.delete(name);
          last = Math.max(last, at);
        }
        if (missing.size === 0) return last;
        const leftMs = deadline - performance.now();
        if (leftMs <= 0) throw new Error(`${missing.size} of ${names.length} at ${path} did not become ready.`);
        const timer = setTimeout(changed.resolve, leftMs);
        await changed.promise;
        clearTimeout(timer);
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await following;
    },
  };
}

type Status = { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };

const isReady = ({ status }: KubernetesObject): boolean =>
  (status as Status | undefined)?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
