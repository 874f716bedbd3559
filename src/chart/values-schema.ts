// The JSON schema of the chart's values: closed at every level but for maps and lists that go into manifests as they are.
import { type SettingName, settingNames, settings } from '../config/settings.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Settings that values of their own decide. */
const decided: readonly SettingName[] = [
  'dataDir',
  'databaseUrl',
  'acmeListen',
  'apiListen',
  'httpListen',
  'opsListen',
  'publicUrl',
  'httpUrl',
  'tlsNames',
  'tlsCertFile',
  'tlsKeyFile',
  'bootstrapToken',
  'manifests',
  'roles',
  'namespace',
  'caNamespaces',
  'watchNamespaces',
  'certManagerInjection',
  'trustNamespace',
  'secretsWatch',
  'podNamespace',
  'podName',
  'kubeconfig',
];

/** Those of the value `settings`. */
export const settingsOfChart: readonly SettingName[] = settingNames.filter((name) => !decided.includes(name));

const closed = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
});
const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const count = (minimum: number): Schema => ({ type: 'integer', minimum });
const port: Schema = { type: 'integer', minimum: 1, maximum: 65_535 };
const textOf = (pattern: string): Schema => ({ type: 'string', pattern });
const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: values });
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const texts: Schema = { type: 'object', additionalProperties: { type: 'string' } };
/** Goes into a manifest as it is. */
const asItIs: Schema = { type: 'object' };
const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });

const namespace = textOf('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$');
const memory = '[1-9][0-9]*(Mi|Gi)';
const secretKey = { existingSecret: text, key: { type: 'string', minLength: 1 } };
const service = closed({
  type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer'),
  port,
  annotations: texts,
  loadBalancerClass: text,
  loadBalancerSourceRanges: listOf(text),
});
const role = closed({ replicas: count(0), memory: textOf(`^(${memory})?$`), cpu: text });
const securedIngress = { host: text, tlsSecret: text, annotations: texts };
const route = closed({ hostnames: listOf(text), parentRefs: listOf(asItIs) });
const peers = listOf(asItIs);
const monitor = closed({ enabled: flag, interval: text, labels: texts });

export const valuesSchema = (): Schema => ({
  $comment: 'Generated from src/chart/values-schema.ts by `npm run generate`: never edited.',
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Values of the Acmery chart',
  ...closed({
    // Helm gives it to charts that are parts of others.
    global: asItIs,
    nameOverride: text,
    fullnameOverride: text,
    commonLabels: texts,
    image: closed({
      repository: { type: 'string', minLength: 1 },
      tag: text,
      digest: textOf('^(sha256:[0-9a-f]{64})?$'),
      pullPolicy: oneOf('Always', 'IfNotPresent', 'Never'),
    }),
    imagePullSecrets: listOf(asItIs),
    publicUrl: textOf('^(https://.+)?$'),
    httpUrl: textOf('^(http://.+)?$'),
    database: closed({ ...secretKey, url: textOf('^(postgres(ql)?://.+)?$') }),
    tls: closed({ existingSecret: text, names: listOf(text) }),
    bootstrapToken: closed(secretKey),
    settings: closed(Object.fromEntries(settingsOfChart.map((name) => [name, settingSchema(name)]))),
    watchNamespaces: { ...listOf(namespace), uniqueItems: true },
    caNamespaces: { ...listOf({ anyOf: [namespace, { const: '*' }] }), uniqueItems: true },
    crds: closed({ enabled: flag, keep: flag }),
    rbac: closed({ create: flag, clusterRoles: nullable(flag), aggregate: flag }),
    serviceAccount: closed({ create: flag, name: text, annotations: texts }),
    replicaCount: count(0),
    roles: closed({ split: flag, server: role, worker: role, operator: role }),
    resources: closed({ memory: textOf(`^${memory}$`), cpu: text }),
    autoscaling: closed({
      enabled: flag,
      minReplicas: count(1),
      maxReplicas: count(1),
      targetCPUUtilizationPercentage: count(1),
    }),
    podDisruptionBudget: closed({
      enabled: flag,
      maxUnavailable: { anyOf: [count(1), textOf('^[1-9][0-9]?%$')] },
    }),
    topologySpread: closed({ enabled: flag, whenUnsatisfiable: oneOf('ScheduleAnyway', 'DoNotSchedule') }),
    podAnnotations: texts,
    podLabels: texts,
    priorityClassName: text,
    nodeSelector: texts,
    tolerations: listOf(asItIs),
    affinity: asItIs,
    terminationGracePeriodSeconds: count(30),
    podSecurityContext: asItIs,
    containerSecurityContext: asItIs,
    extraEnv: listOf(asItIs),
    extraVolumes: listOf(asItIs),
    extraVolumeMounts: listOf(asItIs),
    services: closed({ acme: service, api: service, http: service }),
    ingress: closed({
      className: text,
      acme: closed(securedIngress),
      api: closed({ ...securedIngress, ui: flag }),
      http: closed({ host: text, annotations: texts }),
    }),
    gateway: closed({ tlsRouteApiVersion: text, acme: route, api: route, http: route }),
    networkPolicy: closed({
      enabled: flag,
      apiFrom: peers,
      metricsFrom: peers,
      acmeFrom: peers,
      httpFrom: peers,
      egress: closed({
        databaseTo: peers,
        databasePort: port,
        kubernetesTo: peers,
        kubernetesPorts: listOf(port),
        validation: flag,
        extra: listOf(asItIs),
      }),
    }),
    metrics: closed({
      serviceMonitor: monitor,
      podMonitor: monitor,
      prometheusRule: closed({ enabled: flag, labels: texts, alertLabels: texts, runbookUrl: text }),
      dashboard: closed({ enabled: flag, labels: texts, annotations: texts }),
    }),
    certManager: closed({ injection: flag }),
    secrets: closed({ watch: flag }),
    trustManager: closed({ namespace: textOf('^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$') }),
    extraObjects: listOf({ anyOf: [asItIs, text] }),
  }),
});

/** Texts as in the environment; numbers and lists as YAML has them. */
const settingSchema = (name: SettingName): Schema => ({
  description: `${settings[name].about} Default: ${settings[name].fallbackText}.`,
  anyOf: [text, { type: 'integer' }, listOf(text)],
});
