// Validation: what is done for each type of challenge, and the bounds of a single attempt.
import { OwnSignal } from '../core/own-signal.ts';
import type { ChallengeProber, Probe, ProbeOutcome } from '../core/ports.ts';
import type { AddressPolicy } from './address-policy.ts';
import { probeDns01, probeDnsAccount01 } from './dns-01.ts';
import { probeHttp01 } from './http-01.ts';
import { type Network, type Prober, TargetBusy } from './network.ts';
import { ProbeProblem } from './probe-problem.ts';
import type { DnsResolver } from './resolver.ts';
import { createShares } from './shares.ts';
import { probeTlsAlpn01 } from './tls-alpn-01.ts';

export type ProberOptions = {
  readonly resolver: DnsResolver;
  readonly addressPolicy: AddressPolicy;
  readonly httpPort: number;
  readonly tlsPort: number;
  readonly userAgent: string;
  readonly stepMs?: number;
  readonly totalMs?: number;
  /** Probes at once for one directory, and connections to one address. */
  readonly perDirectory?: number;
  readonly perAddress?: number;
};

const probers = {
  'http-01': probeHttp01,
  'dns-01': probeDns01,
  'tls-alpn-01': probeTlsAlpn01,
  'dns-account-01': probeDnsAccount01,
} satisfies Record<Probe['type'], Prober>;

export function createProber({
  stepMs = 10_000,
  totalMs = 30_000,
  perDirectory = 96,
  perAddress = 64,
  ...rest
}: ProberOptions): ChallengeProber {
  const network: Network = { ...rest, stepMs, addressShares: createShares(perAddress) };
  const directoryShares = createShares(perDirectory);
  return async (probe, signal) => {
    signal.throwIfAborted();
    const giveBack = directoryShares(probe.directoryId);
    if (giveBack === undefined) return { outcome: 'busy' };
    using bounded = new OwnSignal(signal);
    bounded.endAfter(totalMs, () => tooLate(probe, totalMs));
    try {
      return await probers[probe.type](network, probe, bounded.signal);
    } catch (error) {
      signal.throwIfAborted();
      return outcomeOf(error);
    } finally {
      giveBack();
    }
  };
}

const tooLate = ({ identifier }: Probe, totalMs: number): ProbeProblem =>
  new ProbeProblem('connection', `${identifier.value} was not validated within ${totalMs / 1000} s.`);

function outcomeOf(error: unknown): ProbeOutcome {
  if (error instanceof ProbeProblem) return { outcome: 'failed', type: error.type, detail: error.message };
  if (error instanceof TargetBusy) return { outcome: 'busy' };
  throw error;
}
