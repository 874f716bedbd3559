// What happens in the program, one function per business event: each writes its log line and moves its metrics.
import { clusterEvents } from './cluster-events.ts';
import { crlEvents } from './crl-events.ts';
import { issuanceEvents } from './issuance-events.ts';
import { limitEvents } from './limit-events.ts';
import type { Log, LogLevel } from './log.ts';
import { httpMethods, type Metrics, type statusClasses } from './metrics.ts';
import { ocspEvents } from './ocsp-events.ts';
import { operatorEvents } from './operator-events.ts';
import { servingCertificateEvents } from './serving-certificate-events.ts';
import { uiEvents } from './ui-events.ts';
import { validationEvents } from './validation-events.ts';

export type RequestFinished = {
  readonly door: string;
  readonly requestId: string;
  readonly method: string;
  /** The pattern of the route table, never the path of the request: it labels metrics. */
  readonly route: string;
  readonly path: string;
  /** `undefined` when the client left before it was answered. */
  readonly status: number | undefined;
  readonly durationMs: number;
  readonly bytes: number;
  readonly client: string;
  readonly traceId: string | undefined;
  /** Level of the line when nothing went wrong. */
  readonly level: LogLevel;
};

export type SigningCertFacts = {
  readonly id: string;
  readonly name: string;
  readonly cert_type: string;
  readonly key_type: string;
};

type DirectoryFacts = { readonly id: string; readonly slug: string };

/** What can happen to the Postgres that this process runs itself. */
export type OwnPostgresNotice =
  | { readonly kind: 'exited'; readonly error: Error }
  | { readonly kind: 'restart_failed'; readonly error: Error; readonly retryInMs: number }
  | { readonly kind: 'restarted' };

export type Events = ReturnType<typeof createEvents>;

/** A new event: a function here, and a row in `metrics.ts` for what it counts. */
export const createEvents = (log: Log, metrics: Metrics) => ({
  ...limitEvents(log, metrics),
  ...ocspEvents(log, metrics),
  ...crlEvents(log, metrics),
  ...validationEvents(log, metrics),
  ...issuanceEvents(log, metrics),
  ...operatorEvents(log, metrics),
  ...clusterEvents(log, metrics),
  ...servingCertificateEvents(log, metrics),
  ...uiEvents(log, metrics),

  serverStarted(event: { readonly version: string }): void {
    metrics.build.set({ version: event.version, node: process.version }, 1);
    log.info({ ...event, node: process.version }, 'starting');
  },
  listenerOpened(event: { readonly door: string; readonly url: string }): void {
    metrics.requestsOverloaded.add({ door: event.door }, 0);
    metrics.connectionsDropped.add({ door: event.door }, 0);
    log.info(event, 'listening');
  },
  serverReady(event: { readonly startMs: number }): void {
    log.info({ startMs: Math.round(event.startMs) }, 'ready');
  },
  serverDraining(event: { readonly reason: string; readonly deadlineMs: number }): void {
    log.info(event, 'draining: no new work, requests under way finish');
  },
  serverStopped(event: { readonly durationMs: number; readonly cutConnections: number }): void {
    log.info({ ...event, durationMs: Math.round(event.durationMs) }, 'stopped');
  },

  /** Once per change, by whoever asks the checks. */
  readinessChanged(event: { readonly failing: Readonly<Record<string, string>> }): void {
    const isReady = Object.keys(event.failing).length === 0;
    metrics.ready.set({}, isReady ? 1 : 0);
    if (isReady) log.info('readiness checks pass');
    else log.warn({ failing: event.failing }, 'readiness checks fail');
  },
  healthChecked(event: { readonly check: string; readonly passes: boolean }): void {
    metrics.healthChecks.set({ check: event.check }, event.passes ? 1 : 0);
  },

  databaseLost(event: { readonly error: unknown }): void {
    metrics.databaseUp.set({}, 0);
    metrics.databaseLosses.add({});
    log.error(event, 'the database does not answer; trying again with back-off');
  },
  /** Each time that it was asked for its health. */
  databaseAnswered(): void {
    metrics.databaseUp.set({}, 1);
  },
  databaseRecovered(event: { readonly awayMs: number }): void {
    log.info({ awayMs: Math.round(event.awayMs) }, 'the database answers');
  },
  /** A connection that nobody was using ended: the server restarts, or the network between us broke. */
  databaseConnectionLost(event: { readonly error: unknown }): void {
    metrics.databaseConnectionsLost.add({});
    log.warn(event, 'a database connection was lost');
  },
  migrationApplied(event: { readonly name: string }): void {
    metrics.migrations.add({});
    log.info(event, 'migration applied');
  },
  /** Of the Postgres that this process runs itself. */
  ownPostgres(event: OwnPostgresNotice): void {
    if (event.kind === 'restarted') log.info('our own Postgres runs again');
    else log.error(event, 'our own Postgres does not run; starting it again');
  },
  /** Beyond `toleranceMs` signing stops, so the line says which clock to look at. */
  clockSkewSeen(event: { readonly skewMs: number; readonly toleranceMs: number }): void {
    metrics.clockSkew.set({}, event.skewMs / 1000);
    metrics.clockSkewSeen.add({});
    const level = Math.abs(event.skewMs) > event.toleranceMs ? 'error' : 'warn';
    log[level](event, "this machine's clock and the database's are apart; set both by NTP");
  },
  clockCompared(event: { readonly skewMs: number }): void {
    metrics.clockSkew.set({}, event.skewMs / 1000);
  },

  signingCertCreated(event: SigningCertFacts): void {
    metrics.signingCerts.add({ change: 'created' });
    log.info(event, 'CA cert created');
  },
  /** The certificate that its CSR asked for has come. */
  signingCertCompleted(event: SigningCertFacts): void {
    metrics.signingCerts.add({ change: 'completed' });
    log.info(event, 'CA cert completed');
  },
  signingCertDeleted(event: SigningCertFacts): void {
    metrics.signingCerts.add({ change: 'deleted' });
    log.info(event, 'CA cert deleted');
  },
  signingCertKeyRemoved(event: { readonly id: string }): void {
    metrics.signingCerts.add({ change: 'key_removed' });
    log.info(event, 'key of a deleted CA cert removed');
  },
  /** A crash, or a failure that could not be undone, had left it in the making; nobody has seen it. */
  signingCertDropped(event: { readonly id: string }): void {
    metrics.signingCerts.add({ change: 'dropped' });
    log.warn(event, 'unfinished CA cert without a key dropped');
  },
  /** What was begun stays for the sweep to take up or drop. */
  signingCertUndoFailed(event: { readonly id: string; readonly error: unknown }): void {
    metrics.signingCerts.add({ change: 'undo_failed' });
    log.warn(event, 'the making of a CA cert failed, and could not be undone at once');
  },

  directoryCreated(event: DirectoryFacts): void {
    metrics.directories.add({ change: 'created' });
    log.info(event, 'directory created');
  },
  directoryUpdated(event: DirectoryFacts & { readonly fields: readonly string[] }): void {
    metrics.directories.add({ change: 'updated' });
    log.info(event, 'directory updated');
  },
  directoryDeleted(event: DirectoryFacts & { readonly deletedTokens: number }): void {
    metrics.directories.add({ change: 'deleted' });
    log.info(event, 'directory deleted');
  },

  acmeKeyRegistered(event: { readonly id: string; readonly directoryId: string; readonly by: string }): void {
    metrics.acmeKeys.add({ change: 'registered' });
    log.info(event, 'account key registered');
  },
  acmeKeyRevoked(event: { readonly id: string; readonly endedOrders: number; readonly revokedCerts: number }): void {
    metrics.acmeKeys.add({ change: 'revoked' });
    log.info(event, 'account key revoked');
  },
  /** By its ACME client, as the next two. */
  acmeKeyUpdated(event: { readonly id: string; readonly fields: readonly string[] }): void {
    metrics.acmeKeys.add({ change: 'updated' });
    log.info(event, 'account updated');
  },
  acmeKeyChanged(event: { readonly id: string }): void {
    metrics.acmeKeys.add({ change: 'key_changed' });
    log.info(event, 'account has another key');
  },
  acmeKeyDeactivated(event: { readonly id: string; readonly endedOrders: number }): void {
    metrics.acmeKeys.add({ change: 'deactivated' });
    log.info(event, 'account deactivated');
  },
  certsRevoked(event: { readonly reason: string; readonly count: number }): void {
    metrics.certsRevoked.add({ reason: event.reason }, event.count);
    log.info(event, 'certificates revoked');
  },
  /** A certificate was revoked already, and now its key is known to be compromised. */
  revocationUpgraded(event: { readonly id: string; readonly from: string }): void {
    metrics.revocationsUpgraded.add({});
    log.info(event, 'reason of a revocation upgraded to key_compromise');
  },
  /** The revocation itself is committed. */
  crlMarkFailed(event: { readonly signingCertIds: readonly string[]; readonly error: unknown }): void {
    metrics.crlMarkFailures.add({});
    log.warn(event, 'a revocation waits for the next sweep to reach its CRL');
  },

  /** The task is tried again later. */
  taskFailed(event: {
    readonly task: string;
    readonly id?: string;
    readonly attempt: number;
    readonly error: unknown;
  }): void {
    metrics.tasks.add({ task: event.task, outcome: 'failed' });
    log.warn(event, 'background task failed; it is tried again');
  },
  taskDone(event: { readonly task: string }): void {
    metrics.tasks.add({ task: event.task, outcome: 'done' });
  },

  requestsInWork(event: { readonly door: string; readonly count: number }): void {
    metrics.requestsInWork.set({ door: event.door }, event.count);
  },
  requestFinished(event: RequestFinished): void {
    const { door, requestId, method, route, path, status, bytes, client, traceId } = event;
    metrics.requests.add({ door, route, method: knownMethods.get(method) ?? 'other', status: statusClass(status) });
    metrics.requestSeconds.observe({ door, route }, event.durationMs / 1000);
    const durationMs = Math.round(event.durationMs * 10) / 10;
    const level = status !== undefined && status >= 500 ? 'warn' : event.level;
    const fields = { door, requestId, method, route, path, status, durationMs, bytes, client, traceId };
    log[level](fields, status === undefined ? 'request abandoned' : 'request');
  },
  requestRefusedForOverload(event: { readonly door: string }): void {
    metrics.requestsOverloaded.add(event);
  },
  connectionDropped(event: { readonly door: string }): void {
    metrics.connectionsDropped.add(event);
  },
  internalError(event: { readonly where: string; readonly error: unknown; readonly requestId?: string }): void {
    metrics.internalErrors.add({ where: event.where });
    log.error(event, 'internal error');
  },
});

const knownMethods = new Map<string, (typeof httpMethods)[number]>(httpMethods.map((method) => [method, method]));

function statusClass(status: number | undefined): (typeof statusClasses)[number] {
  if (status === undefined) return 'gone';
  if (status < 200) return '1xx';
  if (status < 300) return '2xx';
  if (status < 400) return '3xx';
  return status < 500 ? '4xx' : '5xx';
}
