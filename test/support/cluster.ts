// Kubernetes for a test: the plane that all tests of a run share, or one of its own that it may break.
import { inject } from 'vitest';
import { Plane, type PlaneOptions } from './plane/plane.ts';
import type { Provided } from './plane/setup.ts';
import { TestCluster } from './plane/test-cluster.ts';

/** `await using cluster = await testCluster()`, inside a test. Other tests use the same API server: take a namespace. */
export const testCluster = (): Promise<TestCluster> => TestCluster.at(available().shared);

/** A few seconds and 400 MB: only for tests that stop, freeze or reconfigure parts of it. It ends with the test. */
export async function ownCluster(options: PlaneOptions = {}): Promise<OwnCluster> {
  await using resources = new AsyncDisposableStack();
  const plane = resources.use(await Plane.start(available().binaries, options));
  const cluster = resources.use(await TestCluster.at(plane.address));
  const moved = resources.move();
  return { plane, cluster, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

export type OwnCluster = AsyncDisposable & { readonly plane: Plane; readonly cluster: TestCluster };

function available(): Exclude<Provided, { unavailable: string }> {
  const plane = inject('plane');
  if ('unavailable' in plane) throw new Error(plane.unavailable);
  return plane;
}
