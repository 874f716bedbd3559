// The load of an ACME benchmark, in a process of its own, so that what it costs can be told from what the server costs.
// Reads what to do as JSON from its input, prints what came of it as JSON.
import { generateKeyPairSync } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type AccountKey, accountKeyOf, openClient } from './client.ts';
import type { Connection } from './connection.ts';
import { beginOrder, placeOrder } from './orders.ts';
import { newName, type Prepared, prepare } from './prepared.ts';
import { openResponder, type Responder } from './responder.ts';
import type { Account, AccountJwk, AcmeLoad, AcmeLoadResult, Applicant, Job } from './run-load.ts';
import { Tally } from './tally.ts';

/** More orders a second than any server here has answered. */
const MOST_PER_SECOND = 400;
const MORE_AT_ONCE = 200;
const AFTER_FAILURE_MS = 20;

const load: AcmeLoad = JSON.parse(await text(process.stdin));
const tally = new Tally(load.watch);
const client = await openClient(load.directoryUrl, load.ca, tally);
const connections = Array.from({ length: load.inFlight }, () => client.connection());
const accounts = await registerAll(load.applicants);
let done = 0;

{
  await using responder = await openResponder(load.responder);
  await run(await unitsOf(load.job, responder));
}
for (const connection of connections) connection.close();
const result: AcmeLoadResult = { ...tally.seen(), done, badNonces: client.badNonces, accounts };
process.stdout.write(JSON.stringify(result));

/** What is done over and over on a connection. */
type Unit = (connection: Connection) => Promise<unknown>;

/** One for each connection. */
async function unitsOf(job: Job, responder: Responder): Promise<readonly Unit[]> {
  const prepared = job === 'orders' ? await prepare(load.most ?? Math.ceil(load.seconds * MOST_PER_SECOND)) : [];
  const next = async (): Promise<Prepared> => {
    if (prepared.length === 0) prepared.push(...(await prepare(MORE_AT_ONCE)));
    return prepared.pop() ?? next();
  };
  const keys = accounts.map((account) => ({ ...accountKeyOf(account.jwk), url: account.url }));
  return connections.map((_, index) => {
    const account = keys[index % keys.length] ?? { ...newKey(), url: '' };
    const applying = { client, account, responder, poll: load.poll };
    const units: Readonly<Record<Job, Unit>> = {
      orders: async (connection) => placeOrder(applying, connection, await next()),
      'new-orders': (connection) => beginOrder(applying, connection, newName()),
      accounts: (connection) => client.register(connection, newKey()),
      nonces: (connection) => client.newNonce(connection),
    };
    return units[job];
  });
}

async function run(units: readonly Unit[]): Promise<void> {
  const begun = performance.now();
  const end = begun + load.seconds * 1_000;
  const most = load.most ?? Number.POSITIVE_INFINITY;
  const opening = setTimeout(() => tally.open(), load.warmUpSeconds * 1_000);
  if (load.warmUpSeconds === 0) tally.open();
  const closing = setTimeout(() => tally.close(), load.seconds * 1_000);
  let started = 0;
  const work = async (connection: Connection, index: number): Promise<void> => {
    const unit = units[index];
    if (unit === undefined) return;
    while (started < most && performance.now() < end) {
      started++;
      await once(unit, connection);
    }
  };
  await Promise.all(connections.map(work));
  clearTimeout(opening);
  clearTimeout(closing);
  tally.close();
}

async function once(unit: Unit, connection: Connection): Promise<void> {
  const begun = performance.now();
  try {
    await unit(connection);
    done++;
    tally.took(load.job, performance.now() - begun);
  } catch (error) {
    tally.failed(error instanceof Error ? error.message : String(error));
    await pause(AFTER_FAILURE_MS);
  }
}

async function registerAll(applicants: readonly Applicant[]): Promise<readonly Account[]> {
  const registered: Account[] = [];
  for (const applicant of applicants) registered.push('url' in applicant ? applicant : await register(applicant));
  return registered;
}

async function register({ eab }: Exclude<Applicant, Account>): Promise<Account> {
  const connection = client.connection();
  const jwk = newJwk();
  const url = await client.register(connection, accountKeyOf(jwk), eab);
  connection.close();
  return { jwk, url };
}

function newKey(): AccountKey {
  return accountKeyOf(newJwk());
}

function newJwk(): AccountJwk {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const members = Object.entries(privateKey.export({ format: 'jwk' }));
  return Object.fromEntries(members.map(([member, value]) => [member, String(value)]));
}
