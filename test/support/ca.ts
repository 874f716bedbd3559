// A CA of its own for a test: real database, real key files, a clock that the test moves, log lines kept for reading.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ca } from '../../src/core/ca.ts';
import type { CaaResolver, ChallengeProber } from '../../src/core/ports.ts';
import { ensureWrapKey } from '../../src/core/secret-box.ts';
import { openFileKeyStore } from '../../src/keys/file-key-store.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { capturedLog } from './captured-log.ts';
import { type TestClock, testClock } from './clock.ts';
import { testDatabase } from './database.ts';

export type TestCa = AsyncDisposable & {
  readonly ca: Ca & { readonly clock: TestClock };
  readonly databaseUrl: string;
  /** Every line that was logged, as JSON. */
  readonly logLines: readonly string[];
};

export type TestCaOptions = {
  /** DNS; without it every look-up fails. */
  readonly caa?: CaaResolver;
  /** Validation; without it every try fails. */
  readonly prober?: ChallengeProber;
};

export async function testCa({ caa = noDns, prober = noProber }: TestCaOptions = {}): Promise<TestCa> {
  await using opened = new AsyncDisposableStack();
  const database = opened.use(await testDatabase());
  const folder = await mkdtemp(join(tmpdir(), 'acmery-keys-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const { log, lines: logLines } = capturedLog();
  const ca = {
    database: database.db,
    keys: await openFileKeyStore(join(folder, 'keys')),
    clock: testClock(),
    urls: { publicUrl: 'https://acme.corp.example', httpUrl: 'http://pki.corp.example' },
    caa,
    prober,
    events: createEvents(log, createMetrics()),
  };
  await ensureWrapKey(ca);
  const running = opened.move();
  return { ca, databaseUrl: database.url, logLines, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

const noDns: CaaResolver = async (name) => [{ name, failure: 'there is no DNS in this test' }];

const noProber: ChallengeProber = async () => ({
  outcome: 'failed',
  type: 'connection',
  detail: 'This test has no prober; give one to testCa().',
});
