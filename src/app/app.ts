// Composition: where the concrete parts meet, in reading order. No decisions are made here. What only one role needs is
// loaded with that role.
import type { Settings } from '../config/settings.ts';
import type { Ca } from '../core/ca.ts';
import type { ClockWatch } from '../core/clock-watch.ts';
import { requireLoadableKeys } from '../core/key-inventory.ts';
import { Periodic } from '../core/periodic.ts';
import { ensureWrapKey } from '../core/secret-box.ts';
import { trustedProxies } from '../http/client-address.ts';
import { mount } from '../http/mount.ts';
import { opsDoor } from '../http/ops.ts';
import { type Listener, openListener } from '../http/server.ts';
import type { OperatorOptions } from '../operator/operator.ts';
import { awaitDatabase } from '../store/await-database.ts';
import { DatabaseUnavailable } from '../store/database-error.ts';
import { DatabaseWatch } from '../store/database-watch.ts';
import { createEvents } from '../telemetry/events.ts';
import type { Log } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { version } from '../version.ts';
import type { Doors, DoorsOptions } from './doors.ts';
import { onceDone } from './once-done.ts';
import { type OwnListener, openCa, ownPostgres } from './open-ca.ts';
import { readPool } from './pool-metrics.ts';
import { type Every, servingTls } from './serving-tls.ts';
import { openWorld, type World } from './world.ts';

const MINUTE_MS = 60_000;
const PING_INTERVAL_MS = 5_000;
// With what it takes to close the rest, less than 25 s.
const DRAIN_MS = 15_000;

export type App = {
  readonly ca: Ca;
  readonly world: World;
  readonly opsUrl: string;
  /** Of the server role. */
  readonly doors: Doors | undefined;
  /** File with the trust anchors of our own HTTPS; undefined where the operator's certificate is served. */
  readonly anchorsFile: string | undefined;
  /** Takes no new work, lets requests under way finish, and closes everything. */
  stop(reason: string): Promise<void>;
};

/** Starts everything that `serve` runs, and resolves once it is ready. The signal ends a start that is still waiting. */
export async function startApp(settings: Settings, log: Log, signal: AbortSignal): Promise<App> {
  await using scope = new AsyncDisposableStack();
  const metrics = createMetrics();
  const events = createEvents(log, metrics);
  events.serverStarted({ version });
  const has = (role: Settings['roles'][number]): boolean => settings.roles.includes(role);

  const state: { ca?: Ca; clocks?: ClockWatch; declared?: OperatorOptions; stage: string } = {
    stage: 'waiting for the database',
  };
  const watch = new DatabaseWatch(events);
  // Where nothing is declared there is nothing to wait for, and that is known once all has begun.
  const declared = onceDone((signal) =>
    state.stage === 'serving' ? (state.declared?.source.synced(signal) ?? Promise.resolve()) : undefined,
  );
  const keys = onceDone(() => state.ca && requireLoadableKeys(state.ca));
  const ping = ({ database }: Ca): Promise<void> => watch.observe(() => database.ping());
  const ready = {
    started: async () => {
      if (state.stage !== 'serving') throw new Error(state.stage);
    },
    database: async () => state.ca && ping(state.ca),
    clock: async () => state.clocks?.check(),
    ...(has('operator') && { 'declared objects': declared }),
    keys,
  };
  const live = { leadership: async () => state.declared?.leadership.requireRenewed?.() };
  const mounting = { events, trusted: trustedProxies(settings.trustedProxies) };
  const opsListener = await openListener({
    setting: 'ACMERY_OPS_LISTEN',
    address: settings.opsListen,
    door: mount(opsDoor({ metrics, events, ready, live }), mounting),
    events,
  });
  scope.use(opsListener);

  const world = await openWorld({ settings, events, scope });
  const url = settings.databaseUrl ?? (await ownPostgres(settings.dataDir, events, scope, signal));
  await awaitDatabase(url, watch, events, signal);
  // As they open: validations never connect to them (SEC-1).
  const ownListeners = [listenerOf(opsListener)];
  const keyStore = await world.openKeys();
  const directoriesComeLater = world.isCluster;
  const { ca, clocks } = openCa(settings, { url, keys: keyStore, events, ownListeners, directoriesComeLater }, scope);
  readPool(metrics, ca.database);
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
  const { tls, anchorsFile, anchors } = await servingTls(settings, ca, scope, every);
  const opened = (listener: Listener): void => {
    ownListeners.push(listenerOf(listener));
    scope.use(listener);
  };
  const { review } = world;
  const doors = has('server') ? await doorsOf({ settings, ca, tls, review, mounting, opened }) : undefined;
  // After the listeners: what it contacts must know every one of them.
  if (has('worker')) scope.use((await import('../worker/worker.ts')).startWorker(ca));
  if (has('operator') && world.declared !== undefined) {
    const { startOperator } = await import('../operator/operator.ts');
    const leadership = world.declared.leadership(ca);
    state.declared = { ca, ...world.declared, leadership, anchors, random: Math.random };
    scope.use(startOperator(state.declared));
  }
  state.stage = 'serving';
  events.serverReady({ startMs: performance.now() });
  const running = scope.move();
  return {
    ca,
    world,
    opsUrl: opsListener.url,
    doors,
    anchorsFile,
    async stop(reason) {
      const begun = performance.now();
      state.stage = 'stopping';
      events.serverDraining({ reason, deadlineMs: DRAIN_MS });
      const drained = await Promise.all(Object.values(doors ?? {}).map((listener) => listener.drain(DRAIN_MS)));
      const cutConnections = drained.reduce((sum, { cutConnections: cut }) => sum + cut, 0);
      await running.disposeAsync();
      events.serverStopped({ durationMs: performance.now() - begun, cutConnections });
    },
  };
}

/** All that answers requests is loaded only where some will come. */
const doorsOf = async (options: DoorsOptions): Promise<Doors> => (await import('./doors.ts')).openDoors(options);

const listenerOf = ({ address }: Listener): OwnListener => ({ address: address.host, port: address.port });
