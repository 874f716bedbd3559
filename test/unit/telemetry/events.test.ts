// Events: each writes one line and moves its metrics; metrics have bounded labels and their own registry.
import { expect, test } from 'vitest';
import { createEvents, type RequestFinished } from '../../../src/telemetry/events.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { capturedLog } from '../../support/captured-log.ts';

function given() {
  const captured = capturedLog();
  const metrics = createMetrics();
  return { ...captured, metrics, events: createEvents(captured.log, metrics) };
}

const finished: RequestFinished = {
  door: 'acme',
  requestId: 'r1',
  method: 'GET',
  route: '/acme/:slug/directory',
  path: '/acme/web/directory',
  status: 200,
  durationMs: 12.345,
  bytes: 900,
  client: '192.0.2.1',
  traceId: undefined,
  level: 'info',
};

test('a finished request is counted by route and class and written once', async () => {
  const { events, metrics, records } = given();

  events.requestFinished(finished);

  const text = await metrics.text();
  expect(text).toContain(
    'acmery_http_requests_total{door="acme",route="/acme/:slug/directory",method="GET",status="2xx"} 1',
  );
  expect(text).toContain('acmery_http_request_duration_seconds_count{door="acme",route="/acme/:slug/directory"} 1');
  expect(records()).toMatchObject([{ level: 'info', message: 'request', status: 200, durationMs: 12.3 }]);
});

test('a method that a stranger made up does not become a label', async () => {
  const { events, metrics } = given();

  events.requestFinished({ ...finished, method: 'PROPFIND' });

  expect(await metrics.text()).not.toContain('PROPFIND');
  expect(await metrics.text()).toContain('method="other",status="2xx"} 1');
});

test('a fault is a warning whatever the level of its door; a client that left has no status', async () => {
  const { events, metrics, records } = given();

  events.requestFinished({ ...finished, level: 'debug', status: 500 });
  events.requestFinished({ ...finished, level: 'debug', status: undefined });

  expect(records()).toMatchObject([{ level: 'warn' }, { level: 'debug', message: 'request abandoned' }]);
  expect(await metrics.text()).toContain('status="gone"} 1');
});

test('an internal error is counted where it rose and written with its error', async () => {
  const { events, metrics, records } = given();

  events.internalError({ where: 'acme', error: new TypeError('bug'), requestId: 'r1' });

  expect(await metrics.text()).toContain('acmery_internal_errors_total{where="acme"} 1');
  expect(records()).toMatchObject([{ level: 'error', requestId: 'r1', error: { name: 'TypeError', message: 'bug' } }]);
});

test('skew within the tolerance is a warning, beyond it an error', () => {
  const { events, records } = given();

  events.clockSkewSeen({ skewMs: -3_000, toleranceMs: 30_000 });
  events.clockSkewSeen({ skewMs: -31_000, toleranceMs: 30_000 });

  expect(records()).toMatchObject([{ level: 'warn' }, { level: 'error' }]);
});

test('readiness is a metric and a line per change, naming what fails', async () => {
  const { events, metrics, records } = given();

  events.readinessChanged({ failing: { database: 'connection refused' } });
  expect(await metrics.text()).toContain('\nacmery_ready 0\n');
  events.readinessChanged({ failing: {} });

  expect(await metrics.text()).toContain('\nacmery_ready 1\n');
  expect(records()).toMatchObject([{ level: 'warn', failing: { database: 'connection refused' } }, { level: 'info' }]);
});

test('every event writes at most one line, and the database, certificates and migrations are counted', async () => {
  const { events, metrics, lines } = given();
  const notAfter = new Date('2027-01-01T00:00:00Z');

  events.serverStarted({ version: '1.2.3' });
  events.listenerOpened({ door: 'acme', url: 'https://127.0.0.1:8443' });
  events.serverReady({ startMs: 900.4 });
  events.databaseLost({ error: new Error('refused') });
  events.databaseRecovered({ awayMs: 5 });
  events.migrationApplied({ name: '0001-initial' });
  events.servingCertificateMade({ names: ['localhost'], notAfter });
  events.servingCertificateRotated({ source: 'files', notAfter });
  events.servingCertificateRefused({ reason: 'key does not match', keptUntil: notAfter });
  events.serverDraining({ reason: 'SIGTERM', deadlineMs: 20_000 });
  events.serverStopped({ durationMs: 3, cutConnections: 0 });
  events.clockCompared({ skewMs: 250 });
  events.healthChecked({ check: 'database', passes: true });

  const text = await metrics.text();
  expect(lines).toHaveLength(11);
  expect(text).toContain('acmery_database_lost_total 1');
  expect(text).toContain('acmery_database_up 1');
  expect(text).toContain('acmery_migrations_applied_total 1');
  expect(text).toContain('acmery_serving_certificates_total{outcome="rotated"} 1');
  expect(text).toContain(`acmery_serving_certificate_expiry_timestamp_seconds ${notAfter.getTime() / 1000}`);
  expect(text).toContain('acmery_clock_skew_seconds 0.25');
  expect(text).toContain('acmery_health_check{check="database"} 1');
});

test('counters with known labels begin at 0, and two registries know nothing of each other', async () => {
  const { events, metrics } = given();
  const other = createMetrics();

  events.servingCertificateMade({ names: [], notAfter: new Date(0) });

  expect(await metrics.text()).toContain('acmery_serving_certificates_total{outcome="made"} 1');
  expect(await other.text()).toContain('acmery_serving_certificates_total{outcome="made"} 0');
  expect(await other.text()).toContain('process_cpu_user_seconds_total');
});
