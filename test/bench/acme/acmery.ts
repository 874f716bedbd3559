// Our own server as it is shipped: one process on a Postgres of its own, set up through /v1.
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../../../src/postgres/readiness.ts';
import { runAcmery } from '../../support/acmery-process.ts';
import { builtBundle } from '../bundle.ts';
import type { Eab } from './run-load.ts';
import { type BenchServer, benchPostgres, responderPorts, startProgram, temporaryFolder } from './server.ts';

/** They do their work here as everywhere, but all clients of a load have one address. */
const limits = {
  ACMERY_LIMIT_REQUESTS: '1000000/s',
  ACMERY_LIMIT_ACCOUNTS: '1000000/h',
  ACMERY_LIMIT_ORDERS: '1000000/h',
};

/** A database that is made old at once is no work for housekeeping, which would have done it day by day. */
const retention = { ACMERY_RETAIN_ORDERS: '3650d', ACMERY_RETAIN_EXPIRED_CERTS: '3650d', ACMERY_RETAIN_AUDIT: '3650d' };

type Api = { readonly port: number; readonly ca: string; readonly token: string };

/** `fill` makes a database that is older than the server. */
export async function startAcmery(name: string, fill?: (databaseUrl: string) => Promise<void>): Promise<BenchServer> {
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder(opened, 'acmery');
  const database = await benchPostgres(opened, folder);
  await fill?.(database.url);
  const ports = { acme: await freePort(), api: await freePort(), http: await freePort(), ops: await freePort() };
  const responder = await responderPorts();
  const env = {
    DATABASE_URL: database.nearestUrl,
    ACMERY_DATA_DIR: folder,
    ACMERY_PUBLIC_URL: `https://localhost:${ports.acme}`,
    ACMERY_VALIDATION_ALLOW: '127.0.0.0/8',
    ACMERY_VALIDATION_HTTP_PORT: `${responder.http}`,
    ACMERY_VALIDATION_RESOLVERS: `127.0.0.1:${responder.dns}`,
    ...limits,
    ...retention,
  };
  const listen = Object.entries(ports).flatMap(([door, port]) => [`--${door}-listen`, `127.0.0.1:${port}`]);
  const program = await builtBundle(folder);
  const [file = '', ...args] = program(['serve', ...listen], env);
  const pid = await startProgram(opened, {
    file,
    args,
    folder,
    env,
    isReady: () => isReady(ports.ops),
  });
  const made = await runAcmery(['token', 'create', '--name', 'bench', '--permission', 'admin'], { env, program });
  if (made.code !== 0) throw new Error(`No API token: ${made.stderr}`);
  const ca = await readFile(join(folder, 'tls', 'ca.crt'), 'utf8');
  const api = { port: ports.api, ca, token: made.stdout.trim() };
  const { closed, open } = await setUp(api);
  const running = opened.move();
  return {
    name,
    ca,
    directoryUrl: closed.directory_url,
    openDirectoryUrl: open.directory_url,
    responder,
    watch: { server: pid, postgres: database.pid },
    database,
    newEab: (orderValidations) => newEab(api, closed.id, orderValidations),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );

async function setUp(api: Api) {
  const made = { key_availability: 'online', private_key_type: 'ec_256' };
  const root = await create(api, 'signing_certs', { ...made, name: 'Bench Root', cert_type: 'root' });
  const below = { ...made, name: 'Bench Issuing', cert_type: 'intermediate', signing_cert_id: root.id };
  const { id: signing_cert_id } = await create(api, 'signing_certs', below);
  const directory = (slug: string, registration_mode: string) =>
    create(api, 'directories', { name: slug, slug, signing_cert_id, registration_mode });
  return { closed: await directory('bench', 'preregister'), open: await directory('bench-open', 'open') };
}

async function newEab(api: Api, directoryId: string, orderValidations: string): Promise<Eab> {
  const fields = { directory_id: directoryId, order_validations: orderValidations };
  const { id, key_id, mac_key: hmacKey } = await create(api, 'external_bindings', fields);
  return { kid: key_id ?? id, hmacKey };
}

const wrappers: Readonly<Record<string, string>> = {
  signing_certs: 'signing_cert',
  directories: 'directory',
  external_bindings: 'external_binding',
};

/** The reply is as untyped as JSON.parse has it. */
async function create({ port, ca, token }: Api, resource: string, fields: object) {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const options = { host: 'localhost', family: 4, port, ca, method: 'POST', path: `/v1/${resource}`, headers };
  const asking = request(options);
  asking.end(JSON.stringify({ [wrappers[resource] ?? '']: fields }));
  const [reply] = await once(asking, 'response');
  const body = await text(reply);
  if (reply.statusCode !== 201) throw new Error(`/v1/${resource} answers ${reply.statusCode}: ${body}`);
  return JSON.parse(body);
}
