// /v1 over HTTPS on a million issued certs: what a busy service answers per second, and how long one waits.
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatId } from '../../src/core/ids.ts';
import { usualPlaces } from '../../src/postgres/binaries.ts';
import { startPostgres } from '../../src/postgres/cluster.ts';
import { runAcmery, serveAcmery } from '../support/acmery-process.ts';
import { counts, idOf, notable } from '../support/million-certs.ts';
import { type Figure, spread } from './figure.ts';
import { type Load, type LoadResult, runLoad } from './run-load.ts';
import { seedDatabase } from './seed.ts';

const CONNECTIONS = 32;
const SECONDS = 5;
const CREATIONS = 20;

type Service = Required<Pick<Load, 'host' | 'port' | 'ca' | 'token'>>;

export async function benchApi(): Promise<readonly Figure[]> {
  await using opened = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'acmery-bench-'));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const places = await usualPlaces(process.env.PATH ?? '');
  const postgres = opened.use(await startPostgres({ dataDir: join(dataDir, 'database'), places }));
  await seedDatabase(postgres.url);
  // The limit does its work, but all of the load has one address.
  const env = { DATABASE_URL: postgres.url, ACMERY_LIMIT_REQUESTS: '1000000/s' };
  // An ordinary one, which costs a look-up per request.
  const made = ['token', 'create', '--name', 'bench', '--permission', 'admin', '--data-dir', dataDir];
  const token = (await runAcmery(made, { env })).stdout.trim();
  const acmery = opened.use(await serveAcmery(dataDir, [], { env }));
  await acmery.untilReady();
  const ca = await readFile(join(dataDir, 'tls', 'ca.crt'), 'utf8');
  const service = { host: 'localhost', port: acmery.apiPort, ca, token };
  return [
    ...(await reading(service)),
    ...(await lists(service)),
    ...(await creatingTokens(service)),
    ...(await creatingCas(service)),
  ];
}

const certs = (count: number) =>
  Array.from({ length: count }, () =>
    get(`/v1/issued_certs/${formatId('icrt', idOf(1 + randomInt(counts.issued_certs)))}`),
  );

async function reading(service: Service): Promise<readonly Figure[]> {
  const cert = await measure(service, certs(2_000));
  const directory = await measure(service, [get(`/v1/directories/${formatId('dir', idOf(notable.largeDirectory))}`)]);
  return [
    { what: 'retrieve an issued cert, with its chain', measured: rate(cert), goal: 'goal 5,000/s' },
    { what: 'retrieve a directory', measured: rate(directory), goal: 'goal 5,000/s' },
  ];
}

async function lists(service: Service): Promise<readonly Figure[]> {
  const path = `/v1/issued_certs?directory_id=${formatId('dir', idOf(notable.largeDirectory))}`;
  const [soon, lately] = [30, -100].map((days) => new Date(Date.now() + days * 86_400_000).toISOString());
  // The large directory has every second cert: 50,000 of them before this one.
  const deep = formatId('icrt', idOf(counts.issued_certs - 2 * 50 * 1_000));
  const pages: Readonly<Record<string, string>> = {
    'page 1': '',
    'page 1,000': `&after=${deep}`,
    'state=valid': '&state=valid',
    'state=expired': '&state=expired',
    'state=revoked': '&state=revoked',
    expires_before: `&expires_before=${lately}`,
    expires_after: `&expires_after=${lately}`,
    'expires_before, state=valid': `&state=valid&expires_before=${soon}`,
    'subject on 100,000 certs': `&subject=${notable.hotName}`,
    signing_cert_id: `&signing_cert_id=${formatId('scrt', idOf(notable.earlierCa))}`,
    acme_key_id: `&acme_key_id=${formatId('acmk', idOf(notable.busyKey))}`,
  };
  const figures: Figure[] = [];
  let first: number | undefined;
  for (const [name, query] of Object.entries(pages)) {
    const result = await measure(service, [get(path + query)]);
    first ??= result.perSecond;
    const ratio = (first / result.perSecond).toFixed(2);
    const goal = name === 'page 1' ? 'goal 1,000/s (aim 1,500), p99 60 ms' : 'goal within 1.5 of page 1';
    figures.push({
      what: `list of 50 issued certs out of 1,000,000: ${name}`,
      measured: `${rate(result)}, ${ratio} of page 1`,
      goal,
    });
  }
  return figures;
}

async function creatingTokens(service: Service): Promise<readonly Figure[]> {
  const body = JSON.stringify({
    external_binding: { directory_id: formatId('dir', idOf(notable.largeDirectory)), name: 'bench' },
  });
  const result = await measure(service, [{ method: 'POST', path: '/v1/external_bindings', body }], 201);
  return [{ what: 'create an EAB token', measured: rate(result), goal: 'goal 1,000/s (aim 1,500)' }];
}

async function creatingCas(service: Service): Promise<readonly Figure[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const roots: number[] = [];
  const intermediates: number[] = [];
  for (let count = 0; count < CREATIONS; count++) {
    const root = await createCa(service, agent, { cert_type: 'root', private_key_type: 'ec_256' });
    const signed = { cert_type: 'intermediate', private_key_type: 'ec_256', signing_cert_id: root.id };
    const intermediate = await createCa(service, agent, signed);
    roots.push(root.ms);
    intermediates.push(intermediate.ms);
  }
  const others = measure(service, certs(2_000));
  const made = creatingUntil(others, () =>
    createCa(service, agent, { cert_type: 'root', private_key_type: 'rsa_4096' }),
  );
  const [result, count] = [await others, await made];
  agent.destroy();
  return [
    { what: 'create a root, ec_256', measured: spread(roots, 'ms', 1), goal: 'goal 30 ms' },
    { what: 'create an intermediate, ec_256', measured: spread(intermediates, 'ms', 1), goal: 'goal 30 ms' },
    {
      what: `retrieve an issued cert while ${count} rsa_4096 roots are created`,
      measured: rate(result),
      goal: 'goal p99 100 ms',
    },
  ];
}

/** Creates one after the other until the promise is settled. How many. */
async function creatingUntil(until: Promise<unknown>, create: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = until.finally(() => {
    isOver = true;
  });
  let count = 0;
  while (!isOver) {
    await create();
    count++;
  }
  await over;
  return count;
}

function createCa(
  { port, ca, token }: Service,
  agent: Agent,
  fields: Readonly<Record<string, string>>,
): Promise<{ readonly id: string; readonly ms: number }> {
  const body = JSON.stringify({ signing_cert: { key_availability: 'online', name: 'Bench', ...fields } });
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    request({ host: 'localhost', port, ca, agent, method: 'POST', path: '/v1/signing_certs', headers }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      reply.on('end', () => {
        if (reply.statusCode !== 201) return reject(new Error(text));
        resolve({ id: JSON.parse(text).id, ms: performance.now() - begun });
      });
    })
      .on('error', reject)
      .end(body);
  });
}

const get = (path: string) => ({ method: 'GET', path });

const measure = (service: Service, requests: Load['requests'], expected = 200): Promise<LoadResult> =>
  runLoad({ ...service, connections: CONNECTIONS, seconds: SECONDS, requests }, expected);

const rate = ({ perSecond, p99Ms }: LoadResult): string =>
  `${Math.round(perSecond).toLocaleString('en')}/s, p99 ${p99Ms.toFixed(0)} ms`;
