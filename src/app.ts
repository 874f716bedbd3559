// Composition: where the concrete parts meet, in reading order. No decisions are made here.
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { acmeDoor } from './acme/door.ts';
import { acmeRoutes } from './acme/routes.ts';
import { apiDoor } from './api/door.ts';
import { apiRoutes } from './api/routes.ts';
import { processEnvironment } from './config/load.ts';
import type { Settings } from './config/settings.ts';
import type { Ca } from './core/ca.ts';
import { ClockWatch } from './core/clock-watch.ts';
import { listDirectories } from './core/directories.ts';
import { openNonces } from './core/nonces.ts';
import { Periodic } from './core/periodic.ts';
import type { ChallengeProber } from './core/ports.ts';
import { ensureWrapKey } from './core/secret-box.ts';
import { keepServingCertificate } from './core/serving-certificate.ts';
import { publicHostName } from './core/urls.ts';
import { trustedProxies } from './http/client-address.ts';
import { mount } from './http/mount.ts';
import { opsDoor } from './http/ops.ts';
import { requestLimiter } from './http/request-limiter.ts';
import { type Listener, openListener } from './http/server.ts';
import { openTlsFiles } from './http/tls-files.ts';
import { TlsSlot, type TlsSource } from './http/tls-source.ts';
import { writeAnchors } from './keys/anchors-file.ts';
import { openFileKeyStore } from './keys/file-key-store.ts';
import { runningPostgresUrl } from './postgres/attach.ts';
import { usualPlaces } from './postgres/binaries.ts';
import { startPostgres } from './postgres/cluster.ts';
import { createAddressPolicy } from './prober/address-policy.ts';
import { createCaaResolver } from './prober/caa.ts';
import { createProber } from './prober/probers.ts';
import { createResolver, type DnsResolver } from './prober/resolver.ts';
import { publishDoor } from './publish/door.ts';
import { publishRoutes } from './publish/routes.ts';
import { awaitDatabase } from './store/await-database.ts';
import { openDatabase } from './store/database.ts';
import { DatabaseUnavailable } from './store/database-error.ts';
import { DatabaseWatch } from './store/database-watch.ts';
import { requireSchema } from './store/migrate.ts';
import { createEvents, type Events } from './telemetry/events.ts';
import type { Log } from './telemetry/log.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { version } from './version.ts';
import { startWorker } from './worker/worker.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const PING_INTERVAL_MS = 5_000;
const TLS_FILES_INTERVAL_MS = 10_000;
const DIRECTORIES_TOLD = 5;
// With what it takes to close the rest, less than 25 s.
const DRAIN_MS = 15_000;

export type App = {
  readonly apiUrl: string;
  readonly opsUrl: string;
  readonly httpUrl: string;
  /** File with the trust anchors of our own HTTPS; undefined where the operator's certificate is served. */
  readonly anchorsFile: string | undefined;
  /** The newest ACME servers. */
  readonly directoryUrls: readonly string[];
  /** Takes no new work, lets requests under way finish, and closes everything. */
  stop(reason: string): Promise<void>;
};

/** Starts everything that `serve` runs, and resolves once it is ready. The signal ends a start that is still waiting. */
export async function startApp(settings: Settings, log: Log, signal: AbortSignal): Promise<App> {
  await using scope = new AsyncDisposableStack();
  const metrics = createMetrics();
  const events = createEvents(log, metrics);
  events.serverStarted({ version });

  const state: { ca?: Ca; clocks?: ClockWatch; stage: string } = { stage: 'waiting for the database' };
  const watch = new DatabaseWatch(events);
  const ping = ({ database }: Ca): Promise<void> => watch.observe(() => database.ping());
  const ready = {
    started: async () => {
      if (state.stage !== 'serving') throw new Error(state.stage);
    },
    database: async () => state.ca && ping(state.ca),
    clock: async () => state.clocks?.check(),
  };
  const mounting = { events, trusted: trustedProxies(settings.trustedProxies) };
  const limitRequests = requestLimiter(settings.limitRequests, events);
  const opsListener = await openListener({
    setting: 'ACMERY_OPS_LISTEN',
    address: settings.opsListen,
    door: mount(opsDoor({ metrics, events, ready }), mounting),
    events,
  });
  scope.use(opsListener);

  const url = settings.databaseUrl ?? (await ownPostgres(settings.dataDir, events, scope, signal));
  await awaitDatabase(url, watch, events, signal);
  // As they open: validations never connect to them (SEC-1).
  const ownListeners = [listenerOf(opsListener)];
  const ours = (listener: Listener): Listener => {
    ownListeners.push(listenerOf(listener));
    return scope.use(listener);
  };
  const { ca, clocks } = await openCa(url, settings, events, scope, ownListeners);
  await ensureWrapKey(ca);
  state.ca = ca;
  const every: Every = (intervalMs, name, task) => {
    const onError = (error: unknown): void => {
      // Told by the watch, once.
      if (!(error instanceof DatabaseUnavailable)) events.taskFailed({ task: name, attempt: 1, error });
    };
    scope.use(new Periodic({ intervalMs, task, onError }));
  };
  every(PING_INTERVAL_MS, 'database ping', () => ping(ca));
  state.clocks = clocks;
  state.stage = "waiting for this machine's clock and the database's to agree";
  await clocks.agreement(signal);
  every(MINUTE_MS, 'clock comparison', () => clocks.compare());
  const { bootstrapToken } = settings;
  const credentials = bootstrapToken === undefined ? {} : { bootstrapToken };
  const { tls, anchorsFile } = await servingTls(settings, ca, scope, every);
  const acmeListener = ours(
    await openListener({
      setting: 'ACMERY_ACME_LISTEN',
      address: settings.acmeListen,
      door: mount(acmeDoor({ ca, nonces: await openNonces(ca), routes: acmeRoutes }), { ...mounting, limitRequests }),
      events,
      tls,
    }),
  );
  const apiListener = ours(
    await openListener({
      setting: 'ACMERY_API_LISTEN',
      address: settings.apiListen,
      door: mount(apiDoor({ ca, routes: apiRoutes(version), ...credentials }), { ...mounting, limitRequests }),
      events,
      ...(settings.apiTls === 'on' && { tls }),
    }),
  );
  const httpListener = ours(
    await openListener({
      setting: 'ACMERY_HTTP_LISTEN',
      address: settings.httpListen,
      door: mount(publishDoor({ ca, routes: publishRoutes }), mounting),
      events,
    }),
  );
  const newest = await listDirectories(ca, {}, { limit: DIRECTORIES_TOLD, sort: 'id', direction: 'desc' });
  // Last: what it contacts must know every listener.
  scope.use(startWorker(ca));
  state.stage = 'serving';
  events.serverReady({ startMs: performance.now() });
  const running = scope.move();
  return {
    apiUrl: apiListener.url,
    opsUrl: opsListener.url,
    httpUrl: httpListener.url,
    anchorsFile,
    directoryUrls: newest.items.map(({ directoryUrl }) => directoryUrl),
    async stop(reason) {
      const begun = performance.now();
      state.stage = 'stopping';
      events.serverDraining({ reason, deadlineMs: DRAIN_MS });
      const listeners = [acmeListener, apiListener, httpListener];
      const drained = await Promise.all(listeners.map((listener) => listener.drain(DRAIN_MS)));
      const cutConnections = drained.reduce((sum, { cutConnections: cut }) => sum + cut, 0);
      await running.disposeAsync();
      events.serverStopped({ durationMs: performance.now() - begun, cutConnections });
    },
  };
}

/** For a command: beside a running `serve` it uses the same Postgres. */
export async function databaseUrlFor(settings: Settings, log: Log, scope: AsyncDisposableStack): Promise<string> {
  const running = settings.databaseUrl ?? (await runningPostgresUrl(settings.dataDir));
  return running ?? (await ownPostgres(settings.dataDir, createEvents(log, createMetrics()), scope));
}

/** The CA for a command, without listeners; nothing is known yet of the schema. */
export async function openCaFor(settings: Settings, log: Log, scope: AsyncDisposableStack): Promise<Ca> {
  const url = await databaseUrlFor(settings, log, scope);
  return (await openCa(url, settings, createEvents(log, createMetrics()), scope)).ca;
}

/** Runs one command's work on the CA; the database must answer now, and must have been migrated. */
export async function withCa<Result>(settings: Settings, log: Log, work: (ca: Ca) => Promise<Result>): Promise<Result> {
  await using scope = new AsyncDisposableStack();
  const ca = await openCaFor(settings, log, scope);
  await requireSchema(ca.database.db);
  return await work(ca);
}

type OpenedCa = { readonly ca: Ca; readonly clocks: ClockWatch };

async function openCa(
  url: string,
  settings: Settings,
  events: Events,
  scope: AsyncDisposableStack,
  ownListeners: readonly OwnListener[] = [],
): Promise<OpenedCa> {
  const database = openDatabase({
    url,
    maxConnections: settings.databasePool,
    statementTimeoutMs: settings.databaseStatementTimeout,
    onConnectionLost: (error) => events.databaseConnectionLost({ error }),
  });
  scope.use(database);
  const keys = await openFileKeyStore(join(settings.dataDir, 'keys'));
  const { publicUrl, httpUrl } = settings;
  const limits = { orders: settings.limitOrders, accounts: settings.limitAccounts, failures: settings.limitFailures };
  const retention = {
    ordersMs: settings.retainOrders,
    expiredCertsMs: settings.retainExpiredCerts,
    auditMs: settings.retainAudit,
  };
  const resolver = createResolver({ servers: settings.validationResolvers });
  const caa = createCaaResolver(resolver);
  const prober = proberFor(settings, resolver, ownListeners);
  const clocks = new ClockWatch({ database, events, clock: { now: () => new Date() } });
  const urls = { publicUrl, httpUrl };
  return { ca: { database, keys, clock: clocks, urls, caa, prober, limits, retention, events }, clocks };
}

type OwnListener = { readonly address: string; readonly port: number };

const listenerOf = ({ address }: Listener): OwnListener => ({ address: address.host, port: address.port });

const proberFor = (settings: Settings, resolver: DnsResolver, ownListeners: readonly OwnListener[]): ChallengeProber =>
  createProber({
    resolver,
    addressPolicy: createAddressPolicy({
      allow: settings.validationAllow,
      deny: settings.validationDeny,
      ownListeners,
      localAddresses: () => Object.values(networkInterfaces()).flatMap((found = []) => found.map((one) => one.address)),
    }),
    httpPort: settings.validationHttpPort,
    tlsPort: settings.validationTlsPort,
    userAgent: `Acmery/${version} (ACME validation; ${settings.publicUrl})`,
  });

async function ownPostgres(
  dataDir: string,
  events: Events,
  scope: AsyncDisposableStack,
  signal?: AbortSignal,
): Promise<string> {
  const places = await usualPlaces(processEnvironment().PATH ?? '');
  const postgres = await startPostgres({
    dataDir,
    places,
    onNotice: (notice) => events.ownPostgres(notice),
    ...(signal && { signal }),
  });
  scope.use(postgres);
  return postgres.url;
}

type Every = (intervalMs: number, name: string, task: () => Promise<unknown>) => void;
type ServingTls = { readonly tls: TlsSource; readonly anchorsFile: string | undefined };

async function servingTls(settings: Settings, ca: Ca, scope: AsyncDisposableStack, every: Every): Promise<ServingTls> {
  const { tlsCertFile, tlsKeyFile, dataDir } = settings;
  const { events, clock } = ca;
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined) {
    const files = await openTlsFiles({
      certificateFile: tlsCertFile,
      keyFile: tlsKeyFile,
      intervalMs: TLS_FILES_INTERVAL_MS,
      now: () => clock.now(),
      events,
    });
    scope.use(files);
    return { tls: files.source, anchorsFile: undefined };
  }
  const anchorsFile = join(dataDir, 'tls', 'ca.crt');
  let tls: TlsSlot | undefined;
  const names = settings.tlsNames ?? [...new Set([publicHostName(settings.publicUrl), 'localhost'])];
  const renew = await keepServingCertificate(ca, names, async (pair) => {
    await writeAnchors(anchorsFile, pair.anchors);
    if (tls !== undefined) events.servingCertificateRotated({ source: 'serving CA', notAfter: pair.notAfter });
    tls?.replace(pair);
    tls ??= new TlsSlot(pair);
  });
  every(HOUR_MS, 'serving certificate', renew);
  if (tls === undefined) throw new Error('the serving certificate was not handed over');
  return { tls, anchorsFile };
}
