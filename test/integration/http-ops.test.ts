// The ops door: what probes and Prometheus read.
import { expect, test } from 'vitest';
import type { Check, Checks, CheckTiming } from '../../src/http/checks.ts';
import { trustedProxies } from '../../src/http/client-address.ts';
import { mount } from '../../src/http/mount.ts';
import { opsDoor } from '../../src/http/ops.ts';
import { openListener } from '../../src/http/server.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';
import { gate } from '../support/listening.ts';

async function givenOps(ready: Checks, { live = {}, timing }: { live?: Checks; timing?: CheckTiming } = {}) {
  const captured = capturedLog();
  const metrics = createMetrics();
  const events = createEvents(captured.log, metrics);
  const door = opsDoor({ metrics, events, ready, live, ...(timing === undefined ? {} : { timing }) });
  const listener = await openListener({
    setting: 'ACMERY_OPS_LISTEN',
    address: { host: '127.0.0.1', port: 0 },
    door: mount(door, { events, trusted: trustedProxies([]) }),
    events,
  });
  return {
    ...captured,
    ask: (path: string, method = 'GET') => fetch(`${listener.url}${path}`, { method }),
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

const passes: Check = async () => undefined;
const fails =
  (reason: string): Check =>
  async () => {
    throw new Error(reason);
  };

test('/livez says alive whatever the readiness is', async () => {
  await using ops = await givenOps({ database: fails('refused') });

  const reply = await ops.ask('/livez');

  expect([reply.status, await reply.json()]).toEqual([200, { ok: true, checks: [] }]);
});

test('/livez fails by a check of its own', async () => {
  await using ops = await givenOps({}, { live: { lease: fails('renewal is stuck') } });

  expect((await ops.ask('/livez')).status).toBe(503);
});

test('/readyz is 200 when every check passes', async () => {
  await using ops = await givenOps({ database: passes, keys: passes });

  const reply = await ops.ask('/readyz');

  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-type')).toBe('application/json');
  expect(await reply.json()).toEqual({
    ok: true,
    checks: [
      { name: 'database', ok: true },
      { name: 'keys', ok: true },
    ],
  });
});

test('/readyz is 503 and says which check fails and why, without secrets', async () => {
  await using ops = await givenOps({ keys: passes, database: fails('refused by postgres://u:hunter2@db\n(twice)') });

  const [json, verbose] = await Promise.all([ops.ask('/readyz'), ops.ask('/readyz?verbose')]);

  expect([json.status, verbose.status]).toEqual([503, 503]);
  expect(await json.json()).toEqual({
    ok: false,
    checks: [
      { name: 'keys', ok: true },
      { name: 'database', ok: false, reason: 'refused by postgres://u:[redacted]@db (twice)' },
    ],
  });
  expect(await verbose.text()).toBe(
    '[+]keys ok\n[-]database failed: refused by postgres://u:[redacted]@db (twice)\nreadyz check failed\n',
  );
});

test('a check that hangs fails at its deadline, and its signal aborts', async () => {
  const aborted = gate();
  const hangs: Check = (signal) =>
    new Promise(() => {
      signal.addEventListener('abort', () => aborted.resolve());
    });
  await using ops = await givenOps({ database: hangs }, { timing: { deadlineMs: 20, keptMs: 0, failureKeptMs: 0 } });

  const reply = await ops.ask('/readyz');

  expect(await reply.json()).toMatchObject({ checks: [{ ok: false, reason: 'no answer within 20 ms' }] });
  await aborted.promise;
});

test('many probes at once, and those soon after, share one answer', async () => {
  let asked = 0;
  const counts: Check = async () => {
    asked += 1;
  };
  await using kept = await givenOps(
    { counts },
    { timing: { deadlineMs: 1_000, keptMs: 3_600_000, failureKeptMs: 3_600_000 } },
  );

  await Promise.all(Array.from({ length: 20 }, () => kept.ask('/readyz')));
  await kept.ask('/readyz');

  expect(asked).toBe(1);
});

test('a bad answer stands for less time than a good one', async () => {
  const answers = [fails('away'), passes];
  const check: Check = (signal) => (answers.shift() ?? fails('asked again'))(signal);
  const timing = { deadlineMs: 1_000, keptMs: 3_600_000, failureKeptMs: 0 };
  await using ops = await givenOps({ database: check }, { timing });

  const statuses: number[] = [];
  for (let probe = 0; probe < 3; probe += 1) statuses.push((await ops.ask('/readyz')).status);

  expect(statuses).toEqual([503, 200, 200]);
});

test('an answer that is too old is asked for again, and each change is told once', async () => {
  const answers = [passes, passes, fails('away'), fails('away still'), passes];
  const check: Check = (signal) => (answers.shift() ?? passes)(signal);
  await using ops = await givenOps({ database: check }, { timing: { deadlineMs: 1_000, keptMs: 0, failureKeptMs: 0 } });

  const statuses: number[] = [];
  for (let probe = 0; probe < 5; probe += 1) statuses.push((await ops.ask('/readyz')).status);

  expect(statuses).toEqual([200, 200, 503, 503, 200]);
  const told = ops.records().filter(({ message }) => String(message).startsWith('readiness'));
  expect(told).toMatchObject([{ level: 'info' }, { level: 'warn', failing: { database: 'away' } }, { level: 'info' }]);
});

test('/metrics are in the form of Prometheus and as fresh as the checks', async () => {
  await using ops = await givenOps({ database: fails('away') });

  const reply = await ops.ask('/metrics');
  const text = await reply.text();

  expect(reply.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(text).toContain('\nacmery_ready 0\n');
  expect(text).toContain('\nacmery_health_check{check="database"} 0\n');
  expect(text).toContain('nodejs_eventloop_lag_seconds');
});

test.each(['/livez', '/readyz', '/metrics'])('HEAD %s answers without a body', async (path) => {
  await using ops = await givenOps({});

  const reply = await ops.ask(path, 'HEAD');

  expect([reply.status, await reply.text()]).toEqual([200, '']);
});

test('probes are logged at debug, and nothing else is here', async () => {
  await using ops = await givenOps({});

  const nothing = await ops.ask('/v1/signing_certs');

  expect(nothing.status).toBe(404);
  expect(await nothing.json()).toMatchObject({
    detail: 'Nothing is at this path. There are /livez, /readyz and /metrics.',
  });
  expect(ops.records().find(({ message }) => message === 'request')).toMatchObject({ level: 'debug', door: 'ops' });
});
