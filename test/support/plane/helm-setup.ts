// Vitest global setup of tests that render or install the chart: the path of Helm, or why there is none.
import type { TestProject } from 'vitest/node';
import { findHelm } from './binaries.ts';
import { teller } from './setup.ts';

/** The path of a program, or why there is none. */
export type ProvidedProgram = { readonly path: string } | { readonly unavailable: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly helm: ProvidedProgram;
  }
}

export async function setup(project: TestProject): Promise<void> {
  const tell = teller(project);
  const found = await findHelm(tell).then(
    (path) => ({ path }),
    (error: Error) => ({ unavailable: error.message }),
  );
  if ('unavailable' in found) tell(`without the chart, ${found.unavailable}`);
  project.provide('helm', found);
}
