// Objects that are created: many by writers at once, and one after the other; until each of them is ready.
import type { Cluster } from '../../../src/kubernetes/client.ts';
import { followed } from './followed.ts';

type Body = (name: string) => object;

const WRITERS = 16;

/** Gives the seconds from the first creation until all are ready. */
export async function createMany(cluster: Cluster, path: string, names: readonly string[], body: Body) {
  await using objects = await followed(cluster, path);
  const begunMs = performance.now();
  const left = names.values();
  const write = async (): Promise<void> => {
    for (const name of left) await cluster.request({ method: 'POST', path, body: body(name) });
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const writtenSeconds = (performance.now() - begunMs) / 1_000;
  const readySeconds = ((await objects.untilReady(names)) - begunMs) / 1_000;
  return { writtenSeconds, readySeconds };
}

/** Gives the milliseconds from each creation until it is ready. */
export async function createEach(
  cluster: Cluster,
  path: string,
  names: readonly string[],
  body: Body,
): Promise<readonly number[]> {
  await using objects = await followed(cluster, path);
  const times: number[] = [];
  for (const name of names) {
    const begunMs = performance.now();
    await cluster.request({ method: 'POST', path, body: body(name) });
    times.push((await objects.untilReady([name])) - begunMs);
  }
  return times;
}
