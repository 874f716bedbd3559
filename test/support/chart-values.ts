// Installations of the chart as users make them: each is rendered, compared and tried against a real API server.
import type { ChartValues } from './chart.ts';

const own = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
const gateway = [{ name: 'edge', namespace: 'gateways', sectionName: 'tls' }];

export const chartCases: Readonly<Record<string, ChartValues>> = {
  default: {},
  minimal: {
    replicaCount: 1,
    podDisruptionBudget: { enabled: false },
    topologySpread: { enabled: false },
    rbac: { clusterRoles: false },
    crds: { enabled: false },
    resources: { memory: '1Gi' },
  },
  namespaced: { watchNamespaces: ['team-b', 'team-a'], caNamespaces: ['acmery-system', 'team-a'] },
  split: {
    roles: { split: true, server: { replicas: 3, memory: '768Mi' }, worker: { cpu: '250m' } },
    autoscaling: { enabled: true },
  },
  outside: {
    publicUrl: 'https://{slug}.acme.corp.example',
    httpUrl: 'http://pki.corp.example',
    tls: { existingSecret: 'acme-tls', names: ['10.1.2.3'] },
    services: {
      acme: {
        type: 'LoadBalancer',
        annotations: { 'example.com/pool': 'public' },
        loadBalancerSourceRanges: ['10.0.0.0/8'],
      },
      http: { port: 8080 },
    },
    settings: { apiTls: 'off' },
    ingress: {
      className: 'nginx',
      api: { host: 'acmery.corp.example', tlsSecret: 'api-tls' },
      http: { host: 'pki.corp.example' },
    },
    gateway: {
      acme: { hostnames: ['*.acme.corp.example'], parentRefs: gateway },
      http: { hostnames: ['pki.corp.example'], parentRefs: gateway },
    },
  },
  everything: {
    nameOverride: 'pki',
    commonLabels: { team: 'platform' },
    image: { repository: 'registry.corp.example/acmery', digest: `sha256:${'0a'.repeat(32)}` },
    imagePullSecrets: [{ name: 'registry' }],
    database: { url: 'postgres://acmery:secret@db.corp.example/acmery', key: 'url' },
    bootstrapToken: { existingSecret: 'first-token' },
    settings: { databasePool: 32, limitRequests: '100/s', validationResolvers: ['10.0.0.10', '10.0.0.11:5353'] },
    caNamespaces: ['*'],
    crds: { keep: false },
    serviceAccount: { annotations: { 'example.com/role': 'pki' } },
    podAnnotations: { 'example.com/mesh': 'off' },
    podLabels: { tier: 'ca' },
    priorityClassName: 'system-cluster-critical',
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    extraEnv: [{ name: 'TZ', value: 'UTC' }],
    extraVolumes: [{ name: 'roots', configMap: { name: 'roots' } }],
    extraVolumeMounts: [{ name: 'roots', mountPath: '/etc/roots', readOnly: true }],
    networkPolicy: {
      enabled: true,
      apiFrom: own,
      metricsFrom: own,
      egress: { databaseTo: [{ podSelector: { matchLabels: { app: 'db' } } }], validation: false },
    },
    metrics: {
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true, alertLabels: { team: 'platform' } },
      dashboard: { enabled: true },
    },
    certManager: { injection: true },
    secrets: { watch: true },
    trustManager: { namespace: 'cert-manager' },
    extraObjects: [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: '{{ include "acmery.fullname" . }}-extra', namespace: '{{ .Release.Namespace }}' },
        data: { from: '{{ .Release.Namespace }}' },
      },
    ],
  },
};
