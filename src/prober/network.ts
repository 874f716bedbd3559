// What every probe works with: DNS, where it may connect to, and how long and how often it may.
import type { Probe, ProbeOutcome } from '../core/ports.ts';
import type { AddressPolicy } from './address-policy.ts';
import type { DnsResolver } from './resolver.ts';
import type { Shares } from './shares.ts';

export type Network = {
  readonly resolver: DnsResolver;
  readonly addressPolicy: AddressPolicy;
  /** Where challenges are looked for. */
  readonly httpPort: number;
  readonly tlsPort: number;
  /** Who we are, to the server that is asked (H01-7). */
  readonly userAgent: string;
  /** For a connection, a handshake, an answer. */
  readonly stepMs: number;
  /** Connections to one address. */
  readonly addressShares: Shares;
};

/** Makes one attempt. Throws ProbeProblem where it fails, TargetBusy, and the signal's reason. */
export type Prober = (network: Network, probe: Probe, signal: AbortSignal) => Promise<ProbeOutcome>;

/** As many connections to the address are open as it is given: nothing was tried. */
export class TargetBusy extends Error {
  constructor() {
    super('As many probes of this address are under way as are made at once.');
    this.name = 'TargetBusy';
  }
}
