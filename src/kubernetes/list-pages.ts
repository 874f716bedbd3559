// A whole collection in pages, so that neither server nor event loop is busy with all of it at once.
import type { ClusterRequests } from './client.ts';
import type { KubernetesObject } from './kubernetes-object.ts';

type Page<T> = {
  readonly items: readonly T[];
  /** The version is the same on every page. */
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
};

type Listing = {
  readonly path: string;
  readonly labelSelector?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal;
};

const PAGE = 500;

/** Throws ClusterError, 410 where the reading took longer than the server remembers. */
export async function* listPages<T extends KubernetesObject = KubernetesObject>(
  cluster: ClusterRequests,
  { path, labelSelector, accept, signal }: Listing,
): AsyncGenerator<Page<T>> {
  let next: string | undefined;
  do {
    const query = { labelSelector, limit: `${PAGE}`, continue: next };
    const page: Page<T> = await cluster.request({
      method: 'GET',
      path: pathWithQuery(path, query),
      ...(accept && { accept }),
      ...(signal && { signal }),
    });
    yield page;
    next = page.metadata.continue;
  } while (next);
}

export function pathWithQuery(path: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return `${path}?${query}`;
}
