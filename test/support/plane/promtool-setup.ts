// Vitest global setup of tests of alerting rules: the path of promtool, or why there is none.
import type { TestProject } from 'vitest/node';
import { findPromtool } from './binaries.ts';
import type { ProvidedProgram } from './helm-setup.ts';
import { teller } from './setup.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly promtool: ProvidedProgram;
  }
}

export async function setup(project: TestProject): Promise<void> {
  const tell = teller(project);
  const found = await findPromtool(tell).then(
    (path) => ({ path }),
    (error: Error) => ({ unavailable: error.message }),
  );
  if ('unavailable' in found) tell(`alerting rules are not tried, ${found.unavailable}`);
  project.provide('promtool', found);
}
