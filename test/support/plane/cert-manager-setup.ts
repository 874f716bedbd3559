// Vitest global setup of the tests with cert-manager: a plane with its kinds besides ours, and its controller.
import type { TestProject } from 'vitest/node';
import { findCertManager } from './binaries.ts';
import { certManagerCrds, startCertManager } from './cert-manager.ts';
import { provideNone, providePlane, teller } from './setup.ts';

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const program = await findCertManager(teller(project)).catch((error: Error) => error);
  if (program instanceof Error) return provideNone(project, program.message);
  return providePlane(project, {
    crds: [await certManagerCrds(program)],
    started: (plane) => startCertManager(program, plane.address),
  });
}
