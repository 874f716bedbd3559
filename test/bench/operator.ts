// The operator against a real API server: how soon bindings are ready, what a change, a restart and a new leader cost; and
// cert-manager with its CA Issuers on the same plane.
import { findBinaries, findCertManager } from '../support/plane/binaries.ts';
import { certManagerCrds } from '../support/plane/cert-manager.ts';
import type { BenchOptions, Figure } from './figure.ts';
import { benchBindings } from './operator/bindings.ts';
import { benchIssuers } from './operator/issuers.ts';
import { benchTakeover } from './operator/takeover.ts';
import { openWorld } from './operator/world.ts';

const tell = (sentence: string): void => console.log(`  ${sentence}`);

export async function benchOperator({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const binaries = await findBinaries(tell).catch((error: Error) => error);
  if (binaries instanceof Error) return [skipped('the operator', binaries)];
  const peer = await findCertManager(tell).catch((error: Error) => error);
  const crds = peer instanceof Error ? [] : [await certManagerCrds(peer)];
  const rounds = quick ? 1 : 3;
  await using world = await openWorld(binaries, crds);
  return [
    ...(peer instanceof Error ? [skipped('cert-manager', peer)] : await benchIssuers(world, peer, rounds)),
    ...(await benchBindings(world, { rounds, many: quick ? 2_000 : 10_000 })),
    ...(await benchTakeover(world)),
  ];
}

const skipped = (what: string, { message }: Error): Figure => ({ what, measured: '-', goal: `skipped, ${message}` });
