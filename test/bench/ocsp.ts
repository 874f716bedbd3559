// OCSP over plain HTTP about a CA with a hundred thousand certificates: answers per second, with signatures that are kept
// and with a new one for each.
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { formatId, parseId } from '../../src/core/ids.ts';
import { usualPlaces } from '../../src/postgres/binaries.ts';
import { startPostgres } from '../../src/postgres/cluster.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { runAcmery, type ServingAcmery, serveAcmery } from '../support/acmery-process.ts';
import { ocspRequest } from '../support/ocsp.ts';
import { exampleRows, insertRows } from '../support/rows.ts';
import type { BenchOptions, Figure } from './figure.ts';
import { usageOf } from './process-usage.ts';
import { type LoadResult, runLoad } from './run-load.ts';

const CERTS = 100_000;
const CONNECTIONS = 32;
const SECONDS = 5;

type Asked = { readonly id: string; readonly pem: string };

export async function benchOcsp(options: BenchOptions): Promise<readonly Figure[]> {
  await using opened = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'acmery-bench-'));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const places = await usualPlaces(process.env.PATH ?? '');
  const postgres = opened.use(await startPostgres({ dataDir: join(dataDir, 'database'), places }));
  const env = { DATABASE_URL: postgres.url };
  await runAcmery(['migrate', '--data-dir', dataDir], { env });
  const made = ['token', 'create', '--name', 'bench', '--permission', 'admin', '--data-dir', dataDir];
  const token = (await runAcmery(made, { env })).stdout.trim();
  const acmery = opened.use(await serveAcmery(dataDir, ['--api-tls', 'off'], { env }));
  await acmery.untilReady();
  const database = opened.use(openDatabase({ url: postgres.url, statementTimeoutMs: 120_000 }));
  const port = Number(new URL(acmery.httpUrl).port);
  const figures: Figure[] = [];
  for (const keyType of options.quick ? ['ec_256'] : ['ec_256', 'rsa_2048']) {
    const ca = await givenCa(acmery.apiPort, token, keyType);
    const serials = await issue(database, ca);
    const kept = serials.map((serial) => get(ca, ocspRequest(ca.pem, [serial])));
    // Once through, so that all are signed.
    await measure(port, kept, 2);
    figures.push({
      what: `${keyType}, kept signatures`,
      measured: await costOf(acmery, () => measure(port, kept)),
      goal: 'goal 6,000/s (aim 8,000)',
    });
    const fresh = serials.map((serial) => get(ca, ocspRequest(ca.pem, [serial], { nonce: randomBytes(32) })));
    figures.push({
      what: `${keyType}, signed afresh for a nonce`,
      measured: await costOf(acmery, () => measure(port, fresh)),
      goal: 'goal 3,000/s with ec_256',
    });
  }
  return figures;
}

async function givenCa(port: number, token: string, private_key_type: string): Promise<Asked> {
  const fields = { cert_type: 'root', key_availability: 'online', name: 'Bench', private_key_type };
  const reply = await fetch(`http://127.0.0.1:${port}/v1/signing_certs`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ signing_cert: fields }),
  });
  const { id, public_cert: pem }: { id: string; public_cert: string } = JSON.parse(await reply.text());
  const uuid = parseId('scrt', id);
  if (uuid === undefined) throw new Error(`no CA was made: status ${reply.status}`);
  return { id: uuid, pem };
}

/** Rows of certificates; the serial numbers of some of them. */
async function issue({ db }: Database, { id }: Asked): Promise<readonly Buffer[]> {
  const example = exampleRows();
  const directories = { ...example.directories, signing_cert_id: id };
  const acme_keys = { ...example.acme_keys, directory_id: directories.id };
  await insertRows(db, { ...example, directories, acme_keys }, ['directories', 'acme_keys']);
  await sql`
    insert into issued_certs (id, order_id, acme_key_id, directory_id, signing_cert_id, not_before, not_after, state,
                              serial, key_thumbprint, subjects, der)
    select gen_random_uuid(), gen_random_uuid(), ${acme_keys.id}, ${directories.id}, ${id}, now(), now() + interval '90 d',
           'valid', '\\x01'::bytea || decode(md5(${id} || n), 'hex'), decode(md5('key' || n), 'hex'),
           '{bench.example}', repeat('x', 700)::bytea
      from generate_series(1, ${CERTS}::int) n`.execute(db);
  await sql`analyze issued_certs`.execute(db);
  const numbers = Array.from({ length: 2_000 }, () => 1 + randomInt(CERTS));
  const { rows } = await sql<{ serial: Buffer }>`
    select '\\x01'::bytea || decode(md5(${id} || n), 'hex') as serial from unnest(${numbers}::int[]) n`.execute(db);
  return rows.map(({ serial }) => serial);
}

const get = ({ id }: Asked, request: Buffer) => ({
  method: 'GET',
  path: `/ocsp/${formatId('scrt', id)}/${encodeURIComponent(request.toString('base64'))}`,
});

const measure = (port: number, requests: readonly ReturnType<typeof get>[], seconds = SECONDS): Promise<LoadResult> =>
  runLoad({ host: 'localhost', port, connections: CONNECTIONS, seconds, requests }, 200);

/** What the load costs the service besides is told too: the load generator shares the cores with it. */
async function costOf({ child }: ServingAcmery, run: () => Promise<LoadResult>): Promise<string> {
  const cpuSeconds = () => usageOf(child.pid ?? 0)?.cpuSeconds ?? Number.NaN;
  const before = cpuSeconds();
  const { perSecond, p99Ms } = await run();
  const cpuMs = ((cpuSeconds() - before) * 1000) / (perSecond * SECONDS);
  return `${Math.round(perSecond).toLocaleString('en')}/s, p99 ${p99Ms.toFixed(0)} ms, ${cpuMs.toFixed(2)} ms CPU`;
}
