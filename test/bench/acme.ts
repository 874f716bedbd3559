// ACME beside its peers: whole orders, what they cost, and single questions. Options: `--quick`, `--servers=acmery,pebble`.
import { loadavg } from 'node:os';
import { memory, millionCerts } from './acme/ages.ts';
import { approvedOrders, bursts, nonces, openOrders, registrations } from './acme/further.ts';
import { cpuPerOrder, goals } from './acme/goals.ts';
import { comparison, measureRounds, requestTimes } from './acme/rounds.ts';
import { type ServerName, serverNames, startServers } from './acme/servers.ts';
import type { BenchOptions, Figure } from './figure.ts';

const long = { rounds: 3, seconds: 12, aloneSeconds: 8 };
const short = { rounds: 1, seconds: 6, aloneSeconds: 3 };

export async function benchAcme({ quick, servers: chosen }: BenchOptions): Promise<readonly Figure[]> {
  await using opened = new AsyncDisposableStack();
  const say = (line: string) => console.log(`  ${line}`);
  const length = quick ? short : long;
  const servers = await startServers(opened, wantedServers(chosen), say);
  const load = loadavg()[0]?.toFixed(1);
  say(`Load of the machine before: ${load}. One account for each order in flight, names never asked for before,`);
  say('P-256 everywhere, http-01 fetched from loopback, first poll after 10 ms and then twice as late each time.\n');
  const measured = await measureRounds(servers, length);
  for (const line of [...comparison(measured), '', ...requestTimes(measured), '']) console.log(line);
  const ours = servers.find(({ name }) => name === 'acmery');
  const badger = measured.find(({ server }) => server.name === 'step-ca-badger');
  return [
    ...goals(measured),
    ...(ours === undefined ? [] : await approvedOrders(ours, length.seconds, badger && cpuPerOrder(badger))),
    ...(await bursts(servers)),
    ...(await nonces(servers, length.seconds / 3)),
    ...(await registrations(servers, length.seconds / 3)),
    ...(await openOrders(servers, quick)),
    ...(ours === undefined || quick ? [] : [...(await memory(ours)), ...(await millionCerts(length))]),
  ];
}

/** All when none is named. */
function wantedServers(names: readonly string[]): readonly ServerName[] {
  const unknown = names.filter((name) => !serverNames.some((known) => known === name));
  if (unknown.length > 0)
    throw new Error(`No such server: ${unknown.join(', ')}. There are: ${serverNames.join(', ')}.`);
  return serverNames.filter((name) => names.length === 0 || names.includes(name));
}
