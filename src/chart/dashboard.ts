// The Grafana dashboard of the chart: rows of panels, each a sentence of PromQL or two.

type Target = readonly [expr: string, legend: string];
type Panel = {
  readonly title: string;
  /** What a reader should make of it. */
  readonly about?: string;
  /** Of Grafana. */
  readonly unit: 'ops' | 's' | 'short' | 'percentunit' | 'bytes' | 'dateTimeFromNow';
  readonly type?: 'timeseries' | 'stat' | 'table';
  readonly targets: readonly Target[];
};
type Row = { readonly title: string; readonly panels: readonly Panel[] };

/** Of the namespace and the replicas that are chosen above. */
const OURS = 'namespace="$namespace", pod=~"$pod"';
const WIDTH = 24;
const HEIGHT = 8;

const of = (metric: string, labels = ''): string => `${metric}{${[OURS, labels].filter(Boolean).join(', ')}}`;
const rate = (metric: string, by: string, labels = ''): string =>
  `sum by (${by}) (rate(${of(metric, labels)}[$__rate_interval]))`;
const quantile = (share: number, metric: string, by = ''): string =>
  `histogram_quantile(${share}, sum by (le${by && `, ${by}`}) (rate(${of(`${metric}_bucket`)}[$__rate_interval])))`;

const rows: readonly Row[] = [
  {
    title: 'Now',
    panels: [
      { title: 'Replicas ready', unit: 'short', type: 'stat', targets: [[`sum(${of('acmery_ready')})`, 'ready']] },
      {
        title: 'Database',
        unit: 'short',
        type: 'stat',
        targets: [[`min(${of('acmery_database_up')})`, '1: reached by all']],
      },
      {
        title: 'Leader',
        unit: 'short',
        type: 'stat',
        targets: [[`sum(${of('leader_election_master_status')})`, 'leading']],
      },
      {
        title: 'CA certs end',
        unit: 'dateTimeFromNow',
        type: 'stat',
        targets: [
          [`min by (signing_cert) (${of('acmery_signing_cert_expiry_timestamp_seconds')}) * 1000`, '{{signing_cert}}'],
        ],
      },
    ],
  },
  {
    title: 'Issuance',
    panels: [
      {
        title: 'Certificates',
        unit: 'ops',
        targets: [[rate('acmery_certificates_issued_total', 'profile'), '{{profile}}']],
      },
      {
        title: 'Refused',
        about: 'By the error type that the client got.',
        unit: 'ops',
        targets: [[rate('acmery_issuance_failures_total', 'reason'), '{{reason}}']],
      },
      {
        title: 'From finalize to certificate',
        unit: 's',
        targets: [
          [quantile(0.5, 'acmery_issuance_duration_seconds'), 'p50'],
          [quantile(0.99, 'acmery_issuance_duration_seconds'), 'p99'],
        ],
      },
      {
        title: 'Orders, revocations, delays',
        unit: 'ops',
        targets: [
          [rate('acmery_orders_created_total', 'state'), 'orders born {{state}}'],
          [rate('acmery_certificates_revoked_total', 'reason'), 'revoked: {{reason}}'],
          [rate('acmery_issuance_delays_total', ''), 'delayed'],
        ],
      },
    ],
  },
  {
    title: 'Validation',
    panels: [
      {
        title: 'Tries',
        unit: 'ops',
        targets: [[rate('acmery_validations_total', 'type, outcome'), '{{type}} {{outcome}}']],
      },
      {
        title: 'How long they take (p95)',
        unit: 's',
        targets: [[quantile(0.95, 'acmery_validation_duration_seconds', 'type'), '{{type}}']],
      },
    ],
  },
  {
    title: 'Revocation',
    panels: [
      {
        title: 'Age of CRLs',
        about: 'They are built anew every 12 hours and end after seven days.',
        unit: 's',
        targets: [
          [`time() - max by (signing_cert) (${of('acmery_crl_this_update_timestamp_seconds')})`, '{{signing_cert}}'],
        ],
      },
      { title: 'CRLs built', unit: 'ops', targets: [[rate('acmery_crl_builds_total', 'outcome'), '{{outcome}}']] },
      {
        title: 'OCSP',
        unit: 'ops',
        targets: [
          [rate('acmery_ocsp_answers_total', 'status'), '{{status}}'],
          [rate('acmery_ocsp_signatures_total', ''), 'signed'],
        ],
      },
    ],
  },
  {
    title: 'Custom resources',
    panels: [
      { title: 'Waiting', unit: 'short', targets: [[`sum by (name) (${of('workqueue_depth')})`, '{{name}}']] },
      {
        title: 'Visits',
        unit: 'ops',
        targets: [[rate('controller_runtime_reconcile_total', 'controller, result'), '{{controller}} {{result}}']],
      },
      {
        title: 'Errors',
        unit: 'ops',
        targets: [
          [rate('controller_runtime_reconcile_errors_total', 'controller'), '{{controller}}'],
          [rate('controller_runtime_terminal_reconcile_errors_total', 'controller'), '{{controller}} stalled'],
        ],
      },
      {
        title: 'API server',
        unit: 'ops',
        targets: [[rate('rest_client_requests_total', 'method, code'), '{{method}} {{code}}']],
      },
    ],
  },
  {
    title: 'Requests',
    panels: [
      {
        title: 'Requests',
        unit: 'ops',
        targets: [[rate('acmery_http_requests_total', 'door, status'), '{{door}} {{status}}']],
      },
      {
        title: 'Latency (p99)',
        unit: 's',
        targets: [[quantile(0.99, 'acmery_http_request_duration_seconds', 'door'), '{{door}}']],
      },
      {
        title: 'Refused for overload or limits',
        unit: 'ops',
        targets: [
          [rate('acmery_http_requests_overloaded_total', 'door'), 'overload: {{door}}'],
          [rate('acmery_limit_hits_total', 'limit'), 'limit: {{limit}}'],
        ],
      },
    ],
  },
  {
    title: 'Database',
    panels: [
      {
        title: 'Connections in use',
        about: 'Against how many there may be.',
        unit: 'short',
        targets: [
          [`sum by (pod) (${of('acmery_database_pool_connections', 'state="in_use"')})`, '{{pod}}'],
          [`max(${of('acmery_database_pool_limit')})`, 'limit'],
        ],
      },
      {
        title: 'Waiting for a connection',
        unit: 'short',
        targets: [[of('acmery_database_pool_waiting'), '{{pod}}']],
      },
      {
        title: 'Oldest statement on a shared connection',
        about: 'More than a moment: it waits for a lock or an answer, and all behind it wait, too.',
        unit: 's',
        targets: [[of('acmery_database_shared_oldest_seconds'), '{{pod}}: {{connection}}']],
      },
      {
        title: 'Lost while idle',
        unit: 'ops',
        targets: [[rate('acmery_database_connections_lost_total', 'pod'), '{{pod}}']],
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      { title: 'Memory', unit: 'bytes', targets: [[of('process_resident_memory_bytes'), '{{pod}}']] },
      { title: 'CPU', unit: 'short', targets: [[rate('process_cpu_seconds_total', 'pod'), '{{pod}}']] },
      {
        title: 'Background tasks that fail',
        unit: 'ops',
        targets: [[rate('acmery_worker_tasks_total', 'task', 'outcome="failed"'), '{{task}}']],
      },
      {
        title: 'Errors nobody expected',
        unit: 'ops',
        targets: [[rate('acmery_internal_errors_total', 'where'), '{{where}}']],
      },
    ],
  },
];

export function dashboard(): object {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({ type: 'row', title: row.title, collapsed: false, gridPos: { x: 0, y, w: WIDTH, h: 1 }, panels: [] });
    const w = WIDTH / row.panels.length;
    const h = row.panels.every(({ type }) => type === 'stat') ? HEIGHT / 2 : HEIGHT;
    row.panels.forEach((panel, index) => {
      panels.push(panelOf(panel, { x: index * w, y: y + 1, w, h }));
    });
    y += 1 + h;
  }
  return {
    uid: 'acmery',
    title: 'Acmery',
    tags: ['acmery'],
    description: 'Generated from src/chart/dashboard.ts by `npm run generate`: never edited.',
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        variable('namespace', 'Namespace', 'label_values(acmery_build_info, namespace)', false),
        variable('pod', 'Replica', 'label_values(acmery_build_info{namespace="$namespace"}, pod)', true),
      ],
    },
    panels: panels.map((panel, index) => ({ id: index + 1, ...panel })),
  };
}

const datasource = { type: 'prometheus', uid: '$datasource' } as const;

const panelOf = ({ title, about, unit, type = 'timeseries', targets }: Panel, gridPos: object): object => ({
  type,
  title,
  ...(about !== undefined && { description: about }),
  datasource,
  gridPos,
  fieldConfig: { defaults: { unit, min: type === 'timeseries' ? 0 : undefined }, overrides: [] },
  ...(type === 'timeseries' && { options: { legend: { displayMode: 'list', placement: 'bottom', showLegend: true } } }),
  targets: targets.map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource,
    expr,
    legendFormat,
  })),
});

const variable = (name: string, label: string, query: string, isMany: boolean): object => ({
  name,
  label,
  type: 'query',
  datasource,
  query: { query, refId: name },
  definition: query,
  refresh: 2,
  sort: 1,
  ...(isMany && { multi: true, includeAll: true, allValue: '.*', current: { text: 'All', value: '$__all' } }),
});
