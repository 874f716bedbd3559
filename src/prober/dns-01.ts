// dns-01 (RFC 8555 section 8.4) and dns-account-01, which differ in the name alone: a TXT record with the digest.
import { createHash } from 'node:crypto';
import type { Probe, ProbeOutcome } from '../core/ports.ts';
import type { Network, Prober } from './network.ts';
import { ProbeProblem } from './probe-problem.ts';
import type { DnsAnswer } from './resolver.ts';

const MOST_ALIASES = 8;
/** D01-3. */
const MOST_RECORDS = 200;

export const probeDns01: Prober = (network, probe, signal) =>
  probeAt(`_acme-challenge.${probe.identifier.value}`, network, probe, signal);

/** DAC-1: each account has a name of its own. */
export const probeDnsAccount01: Prober = (network, probe, signal) => {
  const label = base32(createHash('sha256').update(probe.accountUrl).digest().subarray(0, 10));
  return probeAt(`_${label}._acme-challenge.${probe.identifier.value}`, network, probe, signal);
};

async function probeAt(
  name: string,
  network: Network,
  { keyAuthorization }: Probe,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const expected = createHash('sha256').update(keyAuthorization).digest('base64url');
  const answer = await findTxt(network, name, signal);
  if (answer.outcome !== 'found')
    throw new ProbeProblem('dns', `Expected TXT ${expected} at ${name}; the answer was ${answer.answer}.`);
  const records = answer.records.slice(0, MOST_RECORDS);
  if (records.includes(expected)) return { outcome: 'valid' };
  const count = answer.records.length;
  const among = count > MOST_RECORDS ? `, of which ${MOST_RECORDS} were compared` : '';
  const other = `there ${count === 1 ? 'is 1 other record' : `are ${count} other records`}${among}`;
  throw new ProbeProblem('incorrectResponse', `Expected TXT ${expected} at ${name}; ${other}.`);
}

/** D01-2: a resolver gives the records at the end of a chain of aliases; one that does not is led along the chain. */
async function findTxt({ resolver }: Network, name: string, signal: AbortSignal): Promise<DnsAnswer<string>> {
  const seen = new Set<string>();
  let owner = name;
  for (;;) {
    const answer = await resolver.txt(owner, signal);
    if (answer.outcome !== 'none') return answer;
    seen.add(owner.toLowerCase());
    const alias = await resolver.cname(owner, signal);
    const [next] = alias.outcome === 'found' ? alias.records : [];
    if (next === undefined) return answer;
    if (seen.has(next.toLowerCase())) return { outcome: 'failed', name, answer: 'a chain of aliases that is a loop' };
    if (seen.size > MOST_ALIASES)
      return { outcome: 'failed', name, answer: `a chain of more than ${MOST_ALIASES} aliases` };
    owner = next;
  }
}

/** RFC 4648 in lower case; ten bytes make 16 characters without padding. */
function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{5}/g) ?? [];
  return groups.map((group) => 'abcdefghijklmnopqrstuvwxyz234567'.charAt(Number.parseInt(group, 2))).join('');
}
