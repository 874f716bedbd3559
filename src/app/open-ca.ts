// The CA over its parts: database, keys, DNS and probes.
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { processEnvironment } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import type { Ca } from '../core/ca.ts';
import { ClockWatch } from '../core/clock-watch.ts';
import { OwnWorker } from '../core/own-worker.ts';
import type { ChallengeProber, KeyStore } from '../core/ports.ts';
import { openFileKeyStore } from '../keys/file-key-store.ts';
import { runningPostgresUrl } from '../postgres/attach.ts';
import { usualPlaces } from '../postgres/binaries.ts';
import { startPostgres } from '../postgres/cluster.ts';
import { createAddressPolicy } from '../prober/address-policy.ts';
import { createCaaResolver } from '../prober/caa.ts';
import { createProber } from '../prober/probers.ts';
import { createResolver, type DnsResolver } from '../prober/resolver.ts';
import { type Database, openDatabase } from '../store/database.ts';
import { requireSchema } from '../store/migrate.ts';
import { createEvents, type Events } from '../telemetry/events.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { version } from '../version.ts';

export type OwnListener = { readonly address: string; readonly port: number };

export type OpenedCa = { readonly ca: Ca; readonly clocks: ClockWatch };

/** For what needs no key. */
export type KeylessCa = Omit<Ca, 'keys'>;

export type CaParts = {
  readonly url: string;
  readonly keys: KeyStore;
  readonly events: Events;
  /** Validations never connect to them. */
  readonly ownListeners?: readonly OwnListener[];
  readonly directoriesComeLater?: boolean;
};

/** The database need not answer yet. */
export function openCa(settings: Settings, parts: CaParts, scope: AsyncDisposableStack): OpenedCa {
  const { ca, clocks } = openKeyless(settings, parts, scope);
  return { ca: { ...ca, keys: parts.keys }, clocks };
}

function openKeyless(settings: Settings, parts: Omit<CaParts, 'keys'>, scope: AsyncDisposableStack) {
  const { url, events, ownListeners = [], directoriesComeLater = false } = parts;
  const database = scope.use(databaseOf(settings, url, events));
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
  const ownWorker = new OwnWorker();
  const world = { database, clock: clocks, urls, caa, prober };
  const ca = { ...world, limits, retention, events, ownWorker, directoriesComeLater };
  return { ca, clocks };
}

const databaseOf = (settings: Settings, url: string, events: Events): Database =>
  openDatabase({
    url,
    maxConnections: settings.databasePool,
    statementTimeoutMs: settings.databaseStatementTimeout,
    onConnectionLost: (error) => events.databaseConnectionLost({ error }),
  });

export const fileKeys = ({ dataDir }: Settings): Promise<KeyStore> => openFileKeyStore(join(dataDir, 'keys'));

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

/** The Postgres of the data folder, ended with the scope. */
export async function ownPostgres(
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
  return postgres.nearestUrl;
}

/** For a command: beside a running `serve` it uses the same Postgres. */
export async function databaseUrlFor(settings: Settings, log: Log, scope: AsyncDisposableStack): Promise<string> {
  const running = settings.databaseUrl ?? (await runningPostgresUrl(settings.dataDir));
  return running ?? (await ownPostgres(settings.dataDir, createEvents(log, createMetrics()), scope));
}

/** The CA for a command, without listeners and keys; nothing is known yet of the schema. */
export async function openCaFor(settings: Settings, log: Log, scope: AsyncDisposableStack): Promise<KeylessCa> {
  const events = createEvents(log, createMetrics());
  const url = await databaseUrlFor(settings, log, scope);
  return openKeyless(settings, { url, events }, scope).ca;
}

/** Runs one command's work on the database, which must answer now, and must have been migrated. Opens no key. */
export async function withDatabase<Result>(
  settings: Settings,
  log: Log,
  work: (ca: Pick<Ca, 'database' | 'clock'>) => Promise<Result>,
): Promise<Result> {
  await using scope = new AsyncDisposableStack();
  const events = createEvents(log, createMetrics());
  const database = scope.use(databaseOf(settings, await databaseUrlFor(settings, log, scope), events));
  await requireSchema(database.db);
  return await work({ database, clock: new ClockWatch({ database, events, clock: { now: () => new Date() } }) });
}
