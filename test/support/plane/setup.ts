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

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const tell = (sentence: string): void => console.log(`cluster tests: ${sentence}`);
  const binaries = await findBinaries(tell).catch((error: Error) => error);
  if (binaries instanceof Error) {
    tell(`skipped, ${binaries.message}`);
    project.provide('plane', { unavailable: binaries.message });
    return async () => undefined;
  }
  const plane = await Plane.start(binaries, { crds: await ourCrds() });
  project.provide('plane', { binaries, shared: plane.address });
  return () => plane[Symbol.asyncDispose]();
}

/** YAML of the kinds as they are released. */
export async function ourCrds(): Promise<readonly string[]> {
  const files = await readdir(crdFolder).catch(() => []);
  return Promise.all(
    files.filter((name) => name.endsWith('.yaml')).map((name) => readFile(join(crdFolder, name), 'utf8')),
  );
}
