// /v1 with a million issued certs: server, database and load generator share this machine; TLS, 32 kept connections.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';
import { formatId } from '../../src/core/ids.ts';
import { usualPlaces } from '../../src/postgres/binaries.ts';
import { startPostgres } from '../../src/postgres/cluster.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { runAcmery, serveAcmery } from '../support/acmery-process.ts';
import { counts, idOf, notable, seedMillionCerts } from '../support/million-certs.ts';
import { type Figure, spread } from './figure.ts';
import type { LoadOrder, LoadRequest, LoadResult } from './load.ts';

const SECONDS = 5;
/** About what a leaf with its extensions has. */
const DER_BYTES = 900;
const CREATES = 20;

const cert = (number: number): string => formatId('icrt', idOf(number));
const directory = formatId('dir', idOf(notable.largeDirectory));
const LIST = `/v1/issued_certs?directory_id=${directory}&limit=50`;

/** What must cost the same: pages near and far, and every filter. */
const lists: Readonly<Record<string, string>> = {
  'page 1': LIST,
  'page 1,000': `${LIST}&after=${cert(counts.issued_certs / 2)}`,
  acme_key_id: `/v1/issued_certs?acme_key_id=${formatId('acmk', idOf(notable.busyKey))}`,
  signing_cert_id: `/v1/issued_certs?signing_cert_id=${formatId('scrt', idOf(notable.laterCa))}`,
  'state=valid': `${LIST}&state=valid`,
  'state=expired': `${LIST}&state=expired`,
  'state=revoked': `${LIST}&state=revoked`,
  subject: `${LIST}&subject=${notable.hotName}`,
  expires_before: `${LIST}&expires_before=2026-03-01T00:00:00Z`,
};

export async function benchApi(): Promise<readonly Figure[]> {
  await using scope = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'acmery-bench-'));
  scope.defer(() => rm(dataDir, { recursive: true, force: true }));
  const bench = await prepare(dataDir, scope);
  const get = (...paths: readonly string[]) => bench.load(paths.map((path) => ({ method: 'GET', path })));

  const randomCerts = Array.from(
    { length: 5_000 },
    (_, index) => `/v1/issued_certs/${cert(1 + ((index * 7_919) % counts.issued_certs))}`,
  );
  await get(...randomCerts);
  const retrieve = await get(...randomCerts);
  const pages: [string, LoadResult][] = [];
  for (const [name, path] of Object.entries(lists)) pages.push([name, await get(path)]);
  const tokens = await bench.load([
    {
      method: 'POST',
      path: '/v1/external_bindings',
      body: { external_binding: { directory_id: directory, name: 'bench' } },
    },
  ]);
  const creates = await bench.createCas();
  const duringRsa = await bench.whileMakingRsaKeys(() => get(...randomCerts));
  const rates = pages.map(([, { perSecond }]) => perSecond);
  return [
    row('retrieve an issued cert', retrieve, 'goal 5,000/s'),
    ...pages.map(([name, result]) =>
      row(
        `list of 50 of ${counts.issued_certs.toLocaleString('en')}: ${name}`,
        result,
        'goal 1,000/s, aim 1,500; p99 60 ms',
      ),
    ),
    {
      what: 'fastest list to slowest list',
      measured: `${(Math.max(...rates) / Math.min(...rates)).toFixed(2)} times`,
      goal: 'goal 1.5 times',
    },
    row('create an EAB token', tokens, 'goal 1,000/s, aim 1,500'),
    { what: 'create a root, ec_256', measured: spread(creates.root, 'ms', 1), goal: 'goal 30 ms' },
    { what: 'create an intermediate, ec_256', measured: spread(creates.intermediate, 'ms', 1), goal: 'goal 30 ms' },
    row('retrieve while rsa_4096 CA certs are made', duringRsa, 'goal p99 100 ms'),
  ];
}

const row = (what: string, { perSecond, p50Ms, p99Ms, failures }: LoadResult, goal: string): Figure => ({
  what,
  measured: `${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms${failures > 0 ? `, ${failures} FAILED` : ''}`,
  goal,
});

async function prepare(dataDir: string, scope: AsyncDisposableStack) {
  const places = await usualPlaces(process.env.PATH ?? '');
  const settings = { shared_buffers: '512MB', max_wal_size: '4GB' };
  const postgres = scope.use(await startPostgres({ dataDir, places, settings }));
  await seed(postgres.url);
  const env = { DATABASE_URL: postgres.url };
  const token = await makeToken(dataDir, env);
  const acmery = scope.use(await serveAcmery(dataDir, ['--log-level', 'warn'], { env }));
  await acmery.untilReady();
  const caFile = join(dataDir, 'tls', 'ca.crt');
  const load = (requests: readonly LoadRequest[]) =>
    runLoad(acmery.apiUrl, caFile, { token, seconds: SECONDS, requests });
  const client = new Pool(acmery.apiUrl, { connect: { ca: await readFile(caFile, 'utf8') } });
  scope.defer(() => client.close());
  const create = async (fields: object): Promise<{ id: string }> => {
    const reply = await client.request({
      method: 'POST',
      path: '/v1/signing_certs',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ signing_cert: fields }),
    });
    const body = await reply.body.text();
    if (reply.statusCode !== 201) throw new Error(`${reply.statusCode} ${body}`);
    return JSON.parse(body);
  };
  const online = { key_availability: 'online', name: 'Bench' };
  const root = { ...online, cert_type: 'root', private_key_type: 'ec_256' };
  return {
    load,
    async createCas() {
      const times = { root: [] as number[], intermediate: [] as number[] };
      for (let made = 0; made < CREATES; made++) {
        const parent = await timed(times.root, () => create(root));
        const below = { ...root, cert_type: 'intermediate', signing_cert_id: parent.id };
        await timed(times.intermediate, () => create(below));
      }
      return times;
    },
    async whileMakingRsaKeys(measure: () => Promise<LoadResult>) {
      let isMeasuring = true;
      const making = (async () => {
        while (isMeasuring) await create({ ...root, private_key_type: 'rsa_4096' });
      })();
      const result = await measure();
      isMeasuring = false;
      await making;
      return result;
    },
  };
}

async function seed(url: string): Promise<void> {
  await using database = openDatabase({ url, statementTimeoutMs: 0, transactionIdleTimeoutMs: 0 });
  await migrate(database.db);
  await seedMillionCerts(database.db, new Date(), { derBytes: DER_BYTES });
}

/** An ordinary token, which costs a look-up per request as everybody's does. */
async function makeToken(dataDir: string, env: Readonly<Record<string, string>>): Promise<string> {
  const args = ['token', 'create', '--name', 'bench', '--permission', 'admin', '--data-dir', dataDir];
  return (await runAcmery(args, { env })).stdout.trim();
}

async function timed<Result>(times: number[], work: () => Promise<Result>): Promise<Result> {
  const begun = performance.now();
  const result = await work();
  times.push(performance.now() - begun);
  return result;
}

async function runLoad(url: string, caFile: string, order: LoadOrder): Promise<LoadResult> {
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, 'load.ts'), url, caFile], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin?.end(JSON.stringify(order));
  if (child.stdout === null) throw new Error('no output');
  return JSON.parse(await text(child.stdout));
}
