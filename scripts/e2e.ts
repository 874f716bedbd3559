// `npm run e2e`: fetches real ACME clients and takes each through its scenarios against a fresh server of its own; then has
// linters look at everything that a server makes. `npm run e2e -- certbot zlint` runs these alone, `-- linters` all linters;
// `--against pebble` puts another server in our place, without linters; `--list` lists them all.
import { parseArgs } from 'node:util';
import type { Client, Tool } from '../test/e2e/client.ts';
import { clients } from '../test/e2e/clients.ts';
import { cacheFolder } from '../test/e2e/fetch.ts';
import { journey, type Outcome } from '../test/e2e/journey.ts';
import { type Fetched, lintEverything } from '../test/e2e/lint/lint.ts';
import { linters } from '../test/e2e/lint/linters.ts';
import type { ServerKind } from '../test/e2e/server.ts';
import { acmery } from '../test/e2e/servers/acmery.ts';
import { pebble } from '../test/e2e/servers/pebble.ts';

const servers = { acmery, pebble };
const ALL_LINTERS = 'linters';
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { against: { type: 'string', default: 'acmery' }, list: { type: 'boolean', default: false } },
});
const server = Object.entries(servers).find(([name]) => name === values.against)?.[1];
const known = [...clients, ...linters].map(({ name }) => name);
const unknown = positionals.filter((name) => name !== ALL_LINTERS && !known.includes(name));
if (unknown.length > 0 || server === undefined) {
  console.error(`There are the clients ${clients.map(({ name }) => name).join(', ')},`);
  console.error(`the ${ALL_LINTERS} ${linters.map(({ name }) => name).join(', ')}`);
  console.error(`and the servers ${Object.keys(servers).join(', ')}.`);
  process.exitCode = 2;
} else if (values.list) {
  for (const { name, source } of [...clients, ...linters]) console.log(`${name.padEnd(14)} ${source}`);
} else {
  console.log(`Clients and linters are kept in ${cacheFolder}.`);
  const outcomes: Outcome[] = [];
  const missing: string[] = [];
  const isWanted = (name: string): boolean => positionals.length === 0 || positionals.includes(name);
  for (const client of clients.filter(({ name }) => isWanted(name))) {
    const tool = await toolOf(client);
    if (typeof tool === 'string') missing.push(`${client.name}: ${tool}`);
    else await play(client, tool, server, outcomes);
  }
  const wanted = server === acmery ? linters.filter(({ name }) => isWanted(name) || isWanted(ALL_LINTERS)) : [];
  const fetched: Fetched[] = [];
  for (const linter of wanted) {
    const tool = await toolOf(linter);
    if (typeof tool === 'string') missing.push(`${linter.name}: ${tool}`);
    else fetched.push({ name: linter.name, tool });
  }
  if (fetched.length > 0) await lint(fetched, outcomes);
  for (const sentence of missing) console.log(`not to be had: ${sentence}`);
  const count = (result: Outcome['result']) => outcomes.filter((outcome) => outcome.result === result).length;
  // What cannot be fetched here is no failure of ours, and no success either.
  console.log(`${count('ok')} passed, ${count('failed')} failed, ${missing.length} skipped`);
  if (count('failed') > 0 || outcomes.length === 0) process.exitCode = 1;
}

async function toolOf<Fetchable>({ fetch }: { fetch(): Promise<Fetchable> }): Promise<Fetchable | string> {
  try {
    return await fetch();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A server that does not start, or does not end, is a failure like others. */
async function play(client: Client, tool: Tool, kind: ServerKind, outcomes: Outcome[]): Promise<void> {
  const begun = performance.now();
  try {
    await journey(client, tool, kind, (outcome) => tell(client, tool, outcome, outcomes));
  } catch (error) {
    const seconds = (performance.now() - begun) / 1_000;
    const outcome: Outcome = { scenario: 'has a server', result: 'failed', seconds, error: String(error) };
    tell(client, tool, outcome, outcomes);
  }
}

async function lint(fetched: readonly Fetched[], outcomes: Outcome[]): Promise<void> {
  try {
    await lintEverything(fetched, ({ name, tool }, verdict) =>
      tell({ name }, tool, { ...verdict, result: verdict.error === undefined ? 'ok' : 'failed' }, outcomes),
    );
  } catch (error) {
    const outcome: Outcome = { scenario: 'have something to lint', result: 'failed', seconds: 0, error: String(error) };
    tell({ name: ALL_LINTERS }, { version: '' }, outcome, outcomes);
  }
}

function tell(
  { name }: { readonly name: string },
  { version }: { readonly version: string },
  outcome: Outcome,
  outcomes: Outcome[],
): void {
  const { scenario, result, seconds, error } = outcome;
  outcomes.push(outcome);
  console.log(`${result.padEnd(6)} ${`${name} ${version}`.padEnd(26)} ${scenario.padEnd(40)} ${seconds.toFixed(1)} s`);
  if (error !== undefined) console.log(error.replace(/^/gm, '       | '));
}
