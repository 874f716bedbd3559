// A connection to a target: its name is looked up once, each address is judged, and what was judged is connected to.
import { connect, isIP, type Socket } from 'node:net';
import { type Network, TargetBusy } from './network.ts';
import { ProbeProblem } from './probe-problem.ts';
import type { DnsAnswer } from './resolver.ts';
import { withinStep } from './step.ts';

export type Target = {
  /** A DNS name, or an address as text. */
  readonly host: string;
  readonly port: number;
  /** What the ACME client reads in its place: a host that a redirect named is not repeated (SEC-4). */
  readonly shownAs: string;
};

export type Connection = { readonly socket: Socket; readonly address: string };

/** H01-6, H01-8, SEC-3: over IPv6 where there is an address, else once over IPv4; nothing is looked up a second time. */
export async function connectTo(network: Network, target: Target, signal: AbortSignal): Promise<Connection> {
  const refusals: string[] = [];
  for (const address of await addressesOf(network, target, signal)) {
    const refusal = network.addressPolicy(address, target.port);
    if (refusal !== undefined) {
      refusals.push(refusal);
      continue;
    }
    try {
      return { socket: await open(network, address, target.port, signal), address };
    } catch (error) {
      // The end of the whole probe may be a ProbeProblem, too, and is no reason to try another address.
      signal.throwIfAborted();
      if (!(error instanceof ProbeProblem)) throw error;
      refusals.push(error.message);
    }
  }
  throw new ProbeProblem('connection', `No connection to ${target.shownAs}: ${refusals.join(' ')}`);
}

/** The first of each family. */
async function addressesOf(
  { resolver }: Network,
  { host, shownAs }: Target,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const [aaaa, a] = await Promise.all([resolver.aaaa(host, signal), resolver.a(host, signal)]);
  const addresses = [...firstOf(aaaa), ...firstOf(a)];
  if (addresses.length > 0) return addresses;
  const answers = `AAAA gave ${answerOf(aaaa)}, A gave ${answerOf(a)}`;
  throw new ProbeProblem('dns', `No address was found for ${shownAs}: ${answers}.`);
}

const firstOf = (answer: DnsAnswer<string>): readonly string[] =>
  answer.outcome === 'found' ? answer.records.slice(0, 1) : [];

const answerOf = (answer: DnsAnswer<string>): string => (answer.outcome === 'found' ? 'records' : answer.answer);

const refusals: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection at once',
  EHOSTUNREACH: 'cannot be reached from the CA: no route to the host',
  ENETUNREACH: 'cannot be reached from the CA: no route to the network',
  EADDRNOTAVAIL: 'cannot be reached from the CA: it has no address of this kind',
  EACCES: 'cannot be reached from the CA: not permitted',
  EPERM: 'cannot be reached from the CA: not permitted',
  ETIMEDOUT: 'did not take the connection in time',
};

async function open(network: Network, address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const { stepMs: deadlineMs, addressShares } = network;
  // From here to its first listener nothing may throw: an error of a socket without one ends the process.
  signal.throwIfAborted();
  const giveBack = addressShares(address);
  if (giveBack === undefined) throw new TargetBusy();
  const socket = connect({ host: address, port, noDelay: true });
  socket.once('close', giveBack);
  const problem = (what: string): ProbeProblem => new ProbeProblem('connection', `${address} port ${port} ${what}.`);
  const late = (): ProbeProblem => problem(`did not take the connection within ${deadlineMs / 1000} s`);
  await withinStep<void>({ deadlineMs, signal, late }, (resolve, reject) => {
    socket.once('connect', () => resolve());
    // It stays for what comes after the connection stands: whoever works with it then hears of it by itself.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      reject(problem(refusals[error.code ?? ''] ?? `cannot be connected to: ${error.code ?? error.name}`)),
    );
    return () => socket.destroy();
  });
  return socket;
}
