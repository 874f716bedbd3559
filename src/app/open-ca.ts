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
import { openDatabase } from '../store/database.ts';
import { requireSchema } from '../store/migrate.ts';
import { createEvents, type Events } from '../telemetry/events.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { version } from '../version.ts';

export type OwnListener = { readonly address: string; readonly port: number };

export type OpenedCa = { readonly ca: Ca; readonly clocks: ClockWatch };

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
  const { url, keys, events, ownListeners = [], directoriesComeLater = false } = parts;
  const database = openDatabase({
    url,
    maxConnections: settings.databasePool,
    statementTimeoutMs: settings.databaseStatementTimeout,
    onConnectionLost: (error) => events.databaseConnectionLost({ error }),
  });
  scope.use(database);
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
  const world = { database, keys, clock: clocks, urls, caa, prober };
  const ca = { ...world, limits, retention, events, ownWorker, directoriesComeLater };
  return { ca, clocks };
}

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
  return postgres.url;
}

/** For a command: beside a running `serve` it uses the same Postgres. */
export async function databaseUrlFor(settings: Settings, log: Log, scope: AsyncDisposableStack): Promise<string> {
  const running = settings.databaseUrl ?? (await runningPostgresUrl(settings.dataDir));
  return running ?? (await ownPostgres(settings.dataDir, createEvents(log, createMetrics()), scope));
}

/** The CA for a command, without listeners; nothing is known yet of the schema. */
export async function openCaFor(settings: Settings, log: Log, scope: AsyncDisposableStack): Promise<Ca> {
  const events = createEvents(log, createMetrics());
  const url = await databaseUrlFor(settings, log, scope);
  return openCa(settings, { url, keys: await fileKeys(settings), events }, scope).ca;
}

/** Runs one command's work on the CA; the database must answer now, and must have been migrated. */
export async function withCa<Result>(settings: Settings, log: Log, work: (ca: Ca) => Promise<Result>): Promise<Result> {
  await using scope = new AsyncDisposableStack();
  const ca = await openCaFor(settings, log, scope);
  await requireSchema(ca.database.db);
  return await work(ca);
}
