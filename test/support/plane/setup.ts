// Vitest global setup of the cluster tests: one plane per run, with our kinds installed.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findBinaries } from './binaries.ts';
import { Plane, type PlaneAddress, type PlaneBinaries } from './plane.ts';

/** Programs and the shared plane, or why there is none. */
export type Provided =
  | { readonly binaries: PlaneBinaries; readonly shared: PlaneAddress }
  | { readonly unavailable: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly plane: Provided;
  }
}

const crdFolder = join(import.meta.dirname, '../../../crds');

export const setup = (project: TestProject): Promise<() => Promise<void>> => providePlane(project, { crds: [] });

/** Starts the plane of a project with our kinds and others, or says why there is none. Returns what ends it. */
export async function providePlane(
  project: TestProject,
  options: {
    readonly crds: readonly string[];
    /** For what runs besides; it ends with the plane. */
    readonly started?: (plane: Plane) => Promise<AsyncDisposable>;
  },
): Promise<() => Promise<void>> {
  const tell = teller(project);
  const binaries = await findBinaries(tell).catch((error: Error) => error);
  if (binaries instanceof Error) return provideNone(project, binaries.message);
  await using resources = new AsyncDisposableStack();
  const plane = resources.use(await Plane.start(binaries, { crds: [...(await ourCrds()), ...options.crds] }));
  if (options.started !== undefined) resources.use(await options.started(plane));
  project.provide('plane', { binaries, shared: plane.address });
  const running = resources.move();
  return () => running.disposeAsync();
}

export function provideNone(project: TestProject, reason: string): () => Promise<void> {
  teller(project)(`skipped, ${reason}`);
  project.provide('plane', { unavailable: reason });
  return async () => undefined;
}

export const teller =
  ({ name }: TestProject) =>
  (sentence: string): void =>
    console.log(`${name} tests: ${sentence}`);

/** YAML of the kinds as they are released. */
export async function ourCrds(): Promise<readonly string[]> {
  const files = await readdir(crdFolder).catch(() => []);
  return Promise.all(
    files.filter((name) => name.endsWith('.yaml')).map((name) => readFile(join(crdFolder, name), 'utf8')),
  );
}
