// The servers that are measured side by side, and what has to be known about each.
import { buildPeers, type Peers } from '../peers/go.ts';
import { startPebble } from '../peers/pebble.ts';
import { POOL, programs } from '../peers/programs.ts';
import { startStepCa } from '../peers/step-ca.ts';
import { startAcmery } from './acmery.ts';
import type { BenchServer } from './server.ts';

type Row = {
  readonly about: string;
  readonly start: (name: string, peers: Peers) => Promise<BenchServer>;
  /** Needs no Go. */
  readonly isOurs?: true;
};

const stepCa = `step-ca ${programs.stepCa.version}`;

const rows = {
  acmery: {
    about: 'the bundle that is shipped, one process, its own Postgres by a Unix socket, as it runs one itself',
    start: (name) => startAcmery(name),
    isOurs: true,
  },
  'step-ca-postgres': {
    about: `${stepCa} as shipped, its own Postgres`,
    start: (name, { stepCa: file }) => startStepCa(name, file, 'postgres'),
  },
  'step-ca-pooled': {
    about: `${stepCa} patched: at most ${POOL} open connections to its Postgres, all of them kept`,
    start: (name, { stepCaPooled: file }) => startStepCa(name, file, 'postgres'),
  },
  'step-ca-badger': {
    about: `${stepCa} as shipped, its embedded badger`,
    start: (name, { stepCa: file }) => startStepCa(name, file, 'badger'),
  },
  pebble: {
    about: `Pebble ${programs.pebble.version}, in memory, validates nothing; patched: its newOrder lets go of a lock that stops it for ever`,
    start: (name, { pebble: file }) => startPebble(name, file),
  },
} as const satisfies Readonly<Record<string, Row>>;

export type ServerName = keyof typeof rows;

export const serverNames = Object.keys(rows).filter((name): name is ServerName => Object.hasOwn(rows, name));

/** Starts those that can be had here. */
export async function startServers(
  opened: AsyncDisposableStack,
  wanted: readonly ServerName[],
  say: (line: string) => void,
): Promise<readonly BenchServer[]> {
  const needsGo = wanted.some((name) => !isOurs(name));
  const peers = needsGo ? await buildPeers(say) : undefined;
  if (needsGo && peers === undefined) say('Go is not here, so there are no peers beside.');
  const servers: BenchServer[] = [];
  for (const name of wanted) {
    const { about, start }: Row = rows[name];
    if (peers === undefined && !isOurs(name)) continue;
    say(`${name}: ${about}`);
    servers.push(opened.use(await start(name, peers ?? noPeers)));
  }
  return servers;
}

const isOurs = (name: ServerName): boolean => 'isOurs' in rows[name];

const noPeers: Peers = { stepCa: '', stepCaPooled: '', pebble: '' };
