// A CA of its own for a test: real database, real key files, a clock that the test moves, log lines kept for reading.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ca, Limits } from '../../src/core/ca.ts';
import { OwnWorker } from '../../src/core/own-worker.ts';
import type { CaaResolver, ChallengeProber } from '../../src/core/ports.ts';
import { ensureWrapKey } from '../../src/core/secret-box.ts';
import { openFileKeyStore } from '../../src/keys/file-key-store.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { capturedLog } from './captured-log.ts';
import { DAY_MS, type TestClock, testClock } from './clock.ts';
import { testDatabase } from './database.ts';

export type TestCa = AsyncDisposable & {
  readonly ca: Ca & { readonly clock: TestClock };
  readonly databaseUrl: string;
  /** Every line that was logged, as JSON. */
  readonly logLines: readonly string[];
  /** What Prometheus would read. */
  metrics(): Promise<string>;
};

export type TestCaOptions = {
  /** DNS; without it every look-up fails. */
  readonly caa?: CaaResolver;
  /** Without them there are none. */
  readonly limits?: Limits;
  /** Validation; without it every try fails. */
  readonly prober?: ChallengeProber;
  readonly directoriesComeLater?: boolean;
};

export async function testCa({
  caa = aloneCa.caa,
  limits = aloneCa.limits,
  prober = aloneCa.prober,
  directoriesComeLater = aloneCa.directoriesComeLater,
}: TestCaOptions = {}): Promise<TestCa> {
  await using opened = new AsyncDisposableStack();
  const database = opened.use(await testDatabase());
  const folder = await mkdtemp(join(tmpdir(), 'acmery-keys-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const { log, lines: logLines } = capturedLog();
  const metrics = createMetrics();
  const ca = {
    database: database.db,
    keys: await openFileKeyStore(join(folder, 'keys')),
    clock: testClock(),
    urls: { publicUrl: 'https://acme.corp.example', httpUrl: 'http://pki.corp.example' },
    caa,
    limits,
    retention: aloneCa.retention,
    prober,
    directoriesComeLater,
    ownWorker: new OwnWorker(),
    events: createEvents(log, metrics),
  };
  await ensureWrapKey(ca);
  const running = opened.move();
  return {
    ca,
    databaseUrl: database.url,
    logLines,
    metrics: metrics.text,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** What a CA has that limits nobody and reaches nobody. */
export const aloneCa = {
  limits: { orders: 'off', accounts: 'off', failures: 'off' },
  retention: { ordersMs: 30 * DAY_MS, expiredCertsMs: 400 * DAY_MS, auditMs: 400 * DAY_MS },
  caa: async (name) => [{ name, failure: 'there is no DNS in this test' }],
  prober: async () => ({
    outcome: 'failed',
    type: 'connection',
    detail: 'This test has no prober; give one to testCa().',
  }),
  directoriesComeLater: false,
  ownWorker: new OwnWorker(),
} as const satisfies Pick<Ca, 'limits' | 'retention' | 'caa' | 'prober' | 'directoriesComeLater' | 'ownWorker'>;
