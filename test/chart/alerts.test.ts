// The alerts as the chart installs them, tried by promtool.
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, inject, test } from 'vitest';
import { chartManifests } from '../support/chart.ts';

beforeEach(({ skip }) => {
  const promtool = inject('promtool');
  if ('unavailable' in promtool) skip(promtool.unavailable);
});

const NAMESPACE = 'acmery-system';
/** Of one replica, each step a minute. */
const OURS = `namespace="${NAMESPACE}",pod="a"`;
const DAY_S = 86_400;

type Case = {
  readonly alert: string;
  /** Metric with its labels, beside those of the replica: values as promtool writes them. */
  readonly series: Readonly<Record<string, string>>;
  readonly afterMinutes: number;
  /** False: what looks like it and is none. */
  readonly rings?: false;
};

const steady = (value: number): string => `${value}x240`;
const crl = (thisUpdate: number, nextUpdate: number) => ({
  'acmery_crl_this_update_timestamp_seconds{signing_cert="c"}': steady(thisUpdate),
  'acmery_crl_next_update_timestamp_seconds{signing_cert="c"}': steady(nextUpdate),
});
const ends = (days: number) => ({
  'acmery_signing_cert_expiry_timestamp_seconds{signing_cert="c"}': steady(days * DAY_S),
});

// Time begins at 0 there.
const cases: readonly Case[] = [
  { alert: 'AcmeryDown', series: { acmery_ready: steady(0) }, afterMinutes: 6 },
  { alert: 'AcmeryDown', series: {}, afterMinutes: 6 },
  { alert: 'AcmeryDown', series: { acmery_ready: steady(1) }, afterMinutes: 6, rings: false },
  { alert: 'AcmeryReplicaNotReady', series: { acmery_ready: steady(0) }, afterMinutes: 11 },
  { alert: 'AcmeryDatabaseDown', series: { acmery_database_up: steady(0) }, afterMinutes: 3 },
  { alert: 'AcmeryDatabaseUnsteady', series: { acmery_database_connections_lost_total: '0+1x240' }, afterMinutes: 60 },
  {
    alert: 'AcmeryDatabasePoolFull',
    series: { acmery_database_pool_waiting: steady(3) },
    afterMinutes: 21,
  },
  {
    alert: 'AcmeryDatabasePoolFull',
    // A burst at one look out of ten.
    series: { acmery_database_pool_waiting: '0x8 9 0x9 9 0x9 9 0x20' },
    afterMinutes: 21,
    rings: false,
  },
  { alert: 'AcmerySigningCertExpiresInAMonth', series: ends(29), afterMinutes: 61 },
  { alert: 'AcmerySigningCertExpiresInAMonth', series: ends(31), afterMinutes: 61, rings: false },
  { alert: 'AcmerySigningCertExpiresInAWeek', series: ends(6), afterMinutes: 11 },
  { alert: 'AcmerySigningCertExpiresInAWeek', series: ends(8), afterMinutes: 11, rings: false },
  { alert: 'AcmeryCrlOld', series: crl(-4 * DAY_S, 3 * DAY_S), afterMinutes: 31 },
  { alert: 'AcmeryCrlOld', series: crl(-3 * DAY_S, 4 * DAY_S), afterMinutes: 31, rings: false },
  { alert: 'AcmeryCrlEnds', series: crl(-6.5 * DAY_S, 0.5 * DAY_S), afterMinutes: 6 },
  {
    alert: 'AcmeryCrlBuildsFail',
    series: { 'acmery_crl_builds_total{outcome="failed"}': '0+1x240' },
    afterMinutes: 30,
  },
  {
    alert: 'AcmeryServingCertificateEnds',
    series: { acmery_serving_certificate_expiry_timestamp_seconds: steady(2 * DAY_S) },
    afterMinutes: 11,
  },
  { alert: 'AcmeryNoLeader', series: { leader_election_master_status: steady(0) }, afterMinutes: 6 },
  { alert: 'AcmeryNoLeader', series: { leader_election_master_status: steady(1) }, afterMinutes: 6, rings: false },
  {
    alert: 'AcmeryReconcileErrors',
    series: { 'controller_runtime_reconcile_errors_total{controller="Directory"}': '0+1x240' },
    afterMinutes: 30,
  },
  { alert: 'AcmeryWorkQueueLong', series: { 'workqueue_depth{name="Directory"}': steady(500) }, afterMinutes: 16 },
  {
    alert: 'AcmeryIssuanceFailures',
    series: {
      'acmery_issuance_failures_total{reason="badCSR"}': '0+5x240',
      'acmery_certificates_issued_total{profile="default"}': '0+1x240',
    },
    afterMinutes: 60,
  },
  {
    alert: 'AcmeryIssuanceFailures',
    series: {
      'acmery_issuance_failures_total{reason="badCSR"}': '0+5x240',
      'acmery_certificates_issued_total{profile="default"}': '0+50x240',
    },
    afterMinutes: 60,
    rings: false,
  },
  { alert: 'AcmeryIssuanceDelayed', series: { acmery_issuance_delays_total: '0+1x240' }, afterMinutes: 40 },
  {
    alert: 'AcmeryIssuanceSlow',
    series: {
      'acmery_issuance_duration_seconds_bucket{le="2.5"}': '0+1x240',
      'acmery_issuance_duration_seconds_bucket{le="5"}': '0+10x240',
      'acmery_issuance_duration_seconds_bucket{le="+Inf"}': '0+10x240',
    },
    afterMinutes: 40,
  },
  {
    alert: 'AcmeryTasksFail',
    series: { 'acmery_worker_tasks_total{task="crl",outcome="failed"}': '0+1x240' },
    afterMinutes: 60,
  },
  {
    alert: 'AcmeryOverloaded',
    series: { 'acmery_http_requests_overloaded_total{door="acme"}': '0+5x240' },
    afterMinutes: 30,
  },
  { alert: 'AcmeryClockSkew', series: { acmery_clock_skew_seconds: steady(-9) }, afterMinutes: 11 },
  {
    alert: 'AcmeryInternalErrors',
    series: { 'acmery_internal_errors_total{where="acme"}': '0+1x240' },
    afterMinutes: 10,
  },
];

const titleOf = ({ alert, series, rings }: Case): string =>
  `${alert} ${rings === false ? 'keeps quiet' : 'rings'} at ${JSON.stringify(series)}`;

test('promtool finds nothing wrong, and every alert rings when it should', async () => {
  const manifests = await chartManifests(
    { crds: { enabled: false }, metrics: { prometheusRule: { enabled: true } } },
    { namespace: NAMESPACE },
  );
  const { spec } = Object(manifests.find(({ kind }) => kind === 'PrometheusRule'));
  const alerts: string[] = spec.groups.flatMap((group: { rules: { alert: string }[] }) =>
    group.rules.map(({ alert }) => alert),
  );
  expect(new Set(cases.filter(({ rings }) => rings !== false).map(({ alert }) => alert))).toEqual(new Set(alerts));

  const folder = await mkdtemp(join(tmpdir(), 'acmery-alerts-'));
  try {
    const rules = join(folder, 'rules.json');
    await writeFile(rules, JSON.stringify(spec));
    const said = await promtool('check', 'rules', '--lint=all', '--lint-fatal', rules);
    expect(said).toContain(`SUCCESS: ${alerts.length} rules found`);
    const file = join(folder, 'test.json');
    const tests = cases.map(asTest);
    await writeFile(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests }));
    expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
  } finally {
    await rm(folder, { recursive: true });
  }
});

function asTest(one: Case): object {
  const { alert, series, afterMinutes, rings = true } = one;
  return {
    name: titleOf(one),
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: withOurs(name), values })),
    promql_expr_test: [
      {
        expr: `(count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)) > bool 0`,
        eval_time: `${afterMinutes}m`,
        exp_samples: [{ labels: '{}', value: rings ? 1 : 0 }],
      },
    ],
  };
}

const withOurs = (name: string): string => (name.includes('{') ? name.replace('{', `{${OURS},`) : `${name}{${OURS}}`);

/** What it prints. Rejects with it when promtool fails. */
async function promtool(...args: readonly string[]): Promise<string> {
  const provided = inject('promtool');
  if ('unavailable' in provided) throw new Error(provided.unavailable);
  const child = spawn(provided.path, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const { promise: ended, resolve, reject } = Promise.withResolvers<number | null>();
  child.on('error', reject).on('close', resolve);
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`promtool ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}
