// Every setting of the program, one row each: parsing, validation, --help and the README table all come from here.
import {
  bearerToken,
  cidr,
  dnsServer,
  duration,
  listenAddress,
  listOf,
  namespaceName,
  namespaceOrAny,
  oneOf,
  path,
  postgresUrl,
  publicUrl,
  rate,
  tlsName,
  urlOf,
  type ValueKind,
  wholeNumber,
} from './value-kinds.ts';

export type Setting<T> = {
  readonly env: string;
  readonly kind: ValueKind<T>;
  /** Text that is read when nothing is given; without one the setting may be undefined. */
  readonly fallback: string | undefined;
  /** How the default is described when it is not a fixed text. */
  readonly fallbackText: string;
  readonly about: string;
  /** The listener whose port stands in the default. */
  readonly portOf?: 'acmeListen' | 'httpListen';
  /** Given by the variable, or by a file that `<variable>_FILE` or `--<flag>-file` names; other users read flags. */
  readonly isSecret?: true;
};

const DAY_MS = 86_400_000;

export const settings = {
  dataDir: withDefault(path, '.acmery', {
    env: 'ACMERY_DATA_DIR',
    about: 'Folder of the embedded database, the key files and `tls/ca.crt`, the trust anchor of our own HTTPS.',
  }),
  databaseUrl: optional(postgresUrl, {
    env: 'DATABASE_URL',
    fallbackText: 'a Postgres of its own in the data folder',
    about: 'Postgres 14 or newer; `sslmode` and `sslrootcert` mean what they mean to libpq.',
  }),
  databasePool: withDefault(wholeNumber(2, 200), '16', {
    env: 'ACMERY_DATABASE_POOL',
    about: 'Database connections of this process at most, shared and listening ones (up to four) apart.',
  }),
  databaseStatementTimeout: withDefault(duration(1_000, 600_000), '30s', {
    env: 'ACMERY_DATABASE_STATEMENT_TIMEOUT',
    about: 'A statement that runs longer is cancelled.',
  }),
  acmeListen: withDefault(listenAddress, '127.0.0.1:8443', {
    env: 'ACMERY_ACME_LISTEN',
    about: 'ACME over HTTPS: `/acme/{slug}/directory`.',
  }),
  apiListen: withDefault(listenAddress, '127.0.0.1:8444', {
    env: 'ACMERY_API_LISTEN',
    about: '`/v1` over HTTPS.',
  }),
  apiTls: withDefault(oneOf('on', 'off'), 'on', {
    env: 'ACMERY_API_TLS',
    about: '`off`: plain HTTP on the API listener, for a mesh or proxy in front.',
  }),
  httpListen: withDefault(listenAddress, '127.0.0.1:8080', {
    env: 'ACMERY_HTTP_LISTEN',
    about: 'Plain HTTP: what relying parties read, `/crl`, `/ocsp` and `/ca`.',
  }),
  opsListen: withDefault(listenAddress, '127.0.0.1:9090', {
    env: 'ACMERY_OPS_LISTEN',
    about: 'Plain HTTP: `/livez`, `/readyz`, `/metrics`.',
  }),
  publicUrl: withDefault(publicUrl, 'https://localhost:8443', {
    env: 'ACMERY_PUBLIC_URL',
    portOf: 'acmeListen',
    about:
      'Where clients reach us; it ends up in directory URLs and account URLs for years. `{slug}` as the first label of its host gives every directory a host of its own.',
  }),
  httpUrl: withDefault(urlOf('http'), 'http://localhost:8080', {
    env: 'ACMERY_HTTP_URL',
    portOf: 'httpListen',
    about: 'Where CRLs, OCSP and CA certificates are found; it stands in certificates for years.',
  }),
  trustedProxies: withDefault(listOf(cidr), '', {
    env: 'ACMERY_TRUSTED_PROXIES',
    about: 'Proxies whose `X-Forwarded-For` or `Forwarded` is believed.',
  }),
  tlsNames: optional(listOf(tlsName), {
    env: 'ACMERY_TLS_NAMES',
    fallbackText: 'the host of the public URL and `localhost`',
    about: 'Names in our own serving certificate.',
  }),
  tlsCertFile: optional(path, {
    env: 'ACMERY_TLS_CERT_FILE',
    fallbackText: 'a certificate of our own serving CA',
    about: 'PEM chain that replaces our own serving certificate; reloaded when it changes.',
  }),
  tlsKeyFile: optional(path, {
    env: 'ACMERY_TLS_KEY_FILE',
    fallbackText: 'none',
    about: 'PEM key of `ACMERY_TLS_CERT_FILE`.',
  }),
  validationHttpPort: withDefault(wholeNumber(1, 65_535), '80', {
    env: 'ACMERY_VALIDATION_HTTP_PORT',
    about: 'Where http-01 looks for challenges.',
  }),
  validationTlsPort: withDefault(wholeNumber(1, 65_535), '443', {
    env: 'ACMERY_VALIDATION_TLS_PORT',
    about: 'Where tls-alpn-01 looks for challenges.',
  }),
  validationAllow: withDefault(listOf(cidr), '', {
    env: 'ACMERY_VALIDATION_ALLOW',
    about:
      'Addresses that validations contact though the built-in list denies them: loopback, link-local, cloud metadata, multicast, unspecified. Private networks need no entry.',
  }),
  validationDeny: withDefault(listOf(cidr), '', {
    env: 'ACMERY_VALIDATION_DENY',
    about: 'Addresses that validations never contact; it wins over `ACMERY_VALIDATION_ALLOW`.',
  }),
  validationResolvers: optional(listOf(dnsServer), {
    env: 'ACMERY_VALIDATION_RESOLVERS',
    fallbackText: "the system's",
    about: 'DNS servers that validations and CAA look-ups ask, as `address:port`.',
  }),
  limitRequests: withDefault(rate, '500/s', {
    env: 'ACMERY_LIMIT_REQUESTS',
    about:
      'Requests from one client address to one process, as `N/s`, `N/m`, `N/h` or `off`; an IPv6 client counts as its /64. Over a limit the answer is 429 with Retry-After.',
  }),
  limitAccounts: withDefault(rate, '100/h', {
    env: 'ACMERY_LIMIT_ACCOUNTS',
    about: 'Accounts made by ACME clients of one address.',
  }),
  limitOrders: withDefault(rate, '10000/h', {
    env: 'ACMERY_LIMIT_ORDERS',
    about: 'Orders of one account; it bounds its open orders too.',
  }),
  limitFailures: withDefault(rate, '100/h', {
    env: 'ACMERY_LIMIT_FAILURES',
    about: 'Failed validations of one name by one account.',
  }),
  retainOrders: withDefault(duration(DAY_MS, 3_650 * DAY_MS), '30d', {
    env: 'ACMERY_RETAIN_ORDERS',
    about: 'How long orders that have ended are kept, with their authorizations and challenges.',
  }),
  retainExpiredCerts: withDefault(duration(30 * DAY_MS, 36_500 * DAY_MS), '400d', {
    env: 'ACMERY_RETAIN_EXPIRED_CERTS',
    about: 'How long certificates that have expired are kept.',
  }),
  retainAudit: withDefault(duration(DAY_MS, 36_500 * DAY_MS), '400d', {
    env: 'ACMERY_RETAIN_AUDIT',
    about: 'How long audit records are kept; they go by whole months.',
  }),
  bootstrapToken: optional(bearerToken(32), {
    env: 'ACMERY_BOOTSTRAP_TOKEN',
    fallbackText: 'none',
    about: 'An admin API token that works while it is set, of 32 characters or more; or `ACMERY_BOOTSTRAP_TOKEN_FILE`.',
    isSecret: true,
  }),
  manifests: optional(path, {
    env: 'ACMERY_MANIFESTS',
    fallbackText: 'none',
    about: 'Folder of manifests that are reconciled in the place of a cluster, whatever `KUBECONFIG` says.',
  }),
  roles: withDefault(listOf(oneOf('server', 'worker', 'operator')), 'server,worker,operator', {
    env: 'ACMERY_ROLES',
    about:
      'What this process does: `server` answers, `worker` does what is due, `operator` reconciles custom resources.',
  }),
  namespace: optional(namespaceName, {
    env: 'ACMERY_NAMESPACE',
    fallbackText: "that of the pod, else of the kubeconfig's context, else `acmery-system`",
    about: 'The release namespace: keys of CAs lie there, and manifests that name none belong to it.',
  }),
  caNamespaces: optional(listOf(namespaceOrAny), {
    env: 'ACMERY_CA_NAMESPACES',
    fallbackText: 'the release namespace',
    about: 'Namespaces in which SigningCerts are accepted; `*` for all.',
  }),
  watchNamespaces: optional(listOf(namespaceName), {
    env: 'ACMERY_WATCH_NAMESPACES',
    fallbackText: 'the whole cluster',
    about: 'Namespaces whose custom resources are reconciled.',
  }),
  resourceClass: optional(path, {
    env: 'ACMERY_RESOURCE_CLASS',
    fallbackText: 'objects without the label',
    about: 'Only custom resources with this value of the label `acmery.io/class` are reconciled.',
  }),
  certManagerInjection: withDefault(oneOf('on', 'off'), 'off', {
    env: 'ACMERY_CERT_MANAGER_INJECTION',
    about:
      "`on`: Issuers of cert-manager with the annotation `acmery.io/inject-from` get our directory's trust anchor.",
  }),
  secretsWatch: withDefault(oneOf('on', 'off'), 'off', {
    env: 'ACMERY_SECRETS_WATCH',
    about:
      '`on`: Secrets of the watched namespaces are followed, by their metadata alone, in the place of being asked for now and then.',
  }),
  trustNamespace: optional(namespaceName, {
    env: 'ACMERY_TRUST_NAMESPACE',
    fallbackText: 'none',
    about:
      'Namespace from which trust-manager reads: the ConfigMap of each Directory is there once more, with the label `acmery.io/trust`.',
  }),
  podNamespace: optional(namespaceName, {
    env: 'POD_NAMESPACE',
    fallbackText: 'none',
    about: 'The namespace of this pod, from the downward API.',
  }),
  podName: optional(path, {
    env: 'POD_NAME',
    fallbackText: 'the host name',
    about: 'The name of this pod, from the downward API: it stands in the lease and in events.',
  }),
  logLevel: withDefault(oneOf('debug', 'info', 'warn', 'error'), 'info', {
    env: 'ACMERY_LOG_LEVEL',
    about: 'Least level that is logged.',
  }),
  logFormat: optional(oneOf('json', 'text'), {
    env: 'ACMERY_LOG_FORMAT',
    fallbackText: '`text` on a terminal, else `json`',
    about: 'One JSON object a line for machines, or short lines for people.',
  }),
  kubeconfig: optional(path, {
    env: 'KUBECONFIG',
    fallbackText: 'in-cluster files where they exist, else no cluster',
    about: 'Kubeconfig of the cluster; one is used only where this is set or the program runs in a pod.',
  }),
} as const;

export type SettingName = keyof typeof settings;
export type Settings = { readonly [N in SettingName]: (typeof settings)[N] extends Setting<infer T> ? T : never };

export const settingNames = Object.keys(settings) as readonly SettingName[];

/** `dataDir` -> `data-dir`: the flag is `--data-dir`. A secret has `--bootstrap-token-file` in its place. */
export const flagOf = (name: SettingName): string => {
  const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return settings[name].isSecret ? `${flag}-file` : flag;
};

type Row = Pick<Setting<unknown>, 'env' | 'about' | 'portOf' | 'isSecret'>;

function withDefault<T>(kind: ValueKind<T>, fallback: string, row: Row): Setting<T> {
  const shown = fallback === '' ? 'none' : `\`${fallback}\``;
  const fallbackText = row.portOf === undefined ? shown : `${shown}, with the port of the listener`;
  return { ...row, kind, fallback, fallbackText };
}

function optional<T>(kind: ValueKind<T>, row: Row & { fallbackText: string }): Setting<T | undefined> {
  return { ...row, kind, fallback: undefined };
}
