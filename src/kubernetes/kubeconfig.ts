// Kubeconfig files as kubectl reads them: several become one, and of it the current context is used.
import { readFileSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';
import { load as parseYaml } from 'js-yaml';
import type { Access, Environment, Proof } from './access.ts';
import { type ExecEntry, execPlugin } from './exec-plugin.ts';
import { fileText } from './file-text.ts';

type ClusterEntry = {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
};

type UserEntry = {
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: readonly string[];
  readonly exec?: ExecEntry;
  readonly 'auth-provider'?: { readonly name?: string };
};

type ContextEntry = { readonly cluster?: string; readonly user?: string; readonly namespace?: string };

/** An entry, and the folder that its relative paths start from. */
type Placed<Entry> = { readonly entry: Entry; readonly folder: string };

type Kubeconfig = {
  readonly currentContext: string;
  readonly clusters: ReadonlyMap<string, Placed<ClusterEntry>>;
  readonly users: ReadonlyMap<string, Placed<UserEntry>>;
  readonly contexts: ReadonlyMap<string, Placed<ContextEntry>>;
};

/** `paths` as in KUBECONFIG. Throws where nothing usable stands there. */
export function kubeconfigAccess(paths: string, environment: Environment): Access {
  const { currentContext, clusters, users, contexts } = readAll(paths.split(delimiter).filter((path) => path !== ''));
  const context = contexts.get(currentContext)?.entry;
  const cluster = clusters.get(context?.cluster ?? '');
  const server = cluster?.entry.server;
  if (cluster === undefined || server === undefined || !URL.canParse(server))
    throw new Error(`its current context names no cluster with a usable address (${server}).`);
  const { entry, folder } = cluster;
  const user = users.get(context?.user ?? '') ?? { entry: {}, folder };
  return {
    server,
    namespace: context?.namespace,
    proxyUrl: entry['proxy-url'],
    serverName: entry['tls-server-name'],
    skipsVerification: entry['insecure-skip-tls-verify'] === true,
    authorities: textOf(entry['certificate-authority-data'], entry['certificate-authority'], folder),
    // What proves who we are is not for everybody on the way, as with kubectl.
    proof: isSecure(server) ? proofOf(user, cluster, environment) : () => ({ headers: {} }),
  };
}

const isSecure = (server: string): boolean => new URL(server).protocol === 'https:';

/** Of an entry of one name the first counts, and so does the first file that names a context. */
function readAll(paths: readonly string[]): Kubeconfig {
  const files = paths.map((path) => readFile(path, paths.length > 1)).filter((file) => file !== undefined);
  if (files.length === 0) throw new Error('none of these files is there.');
  const entriesOf = <Entry>(list: ListName, member: string): ReadonlyMap<string, Placed<Entry>> =>
    new Map(
      files
        .flatMap(({ content, folder }) =>
          (content[list] ?? []).map((item): [string, Placed<Entry>] => [
            String(item.name),
            { entry: (item[member] ?? {}) as Entry, folder },
          ]),
        )
        .reverse(),
    );
  return {
    currentContext: files.map(({ content }) => content['current-context']).find(Boolean) ?? '',
    clusters: entriesOf('clusters', 'cluster'),
    users: entriesOf('users', 'user'),
    contexts: entriesOf('contexts', 'context'),
  };
}

type ListName = 'clusters' | 'users' | 'contexts';
type Content = { readonly 'current-context'?: string } & {
  readonly [Name in ListName]?: readonly Readonly<Record<string, unknown>>[];
};

/** One of several need not be there. */
function readFile(path: string, isOneOfSeveral: boolean): { content: Content; folder: string } | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isOneOfSeveral && error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const content: unknown = parseYaml(text);
  if (typeof content !== 'object' || content === null) throw new Error(`${path} holds no kubeconfig.`);
  return { content: content as Content, folder: dirname(resolve(path)) };
}

function proofOf(
  { entry, folder }: Placed<UserEntry>,
  cluster: Placed<ClusterEntry>,
  environment: Environment,
): () => Proof | Promise<Proof> {
  const provider = entry['auth-provider']?.name;
  if (provider !== undefined)
    throw new Error(`its user has the auth-provider ${provider}, which Kubernetes has given up; use an exec plug-in.`);
  const certificate = textOf(entry['client-certificate-data'], entry['client-certificate'], folder);
  const key = textOf(entry['client-key-data'], entry['client-key'], folder);
  const token = entry.tokenFile === undefined ? undefined : fileText(resolve(folder, entry.tokenFile));
  const acting = impersonation(entry);
  const plugin = entry.exec && execPlugin(entry.exec, { folder, environment, cluster: clusterInfo(cluster) });
  const isFixed = token === undefined && entry['client-certificate'] === undefined && entry['client-key'] === undefined;

  const ownProof = (): Proof => ({
    headers: { ...authorization(entry, token?.()), ...acting },
    certificate: certificate?.(),
    key: key?.(),
  });
  if (plugin !== undefined)
    return async () => {
      const own = ownProof();
      const { token: bearer, certificate: pluginCertificate, key: pluginKey } = await plugin();
      return {
        headers: { ...own.headers, ...(bearer && { authorization: `Bearer ${bearer}` }) },
        certificate: pluginCertificate ?? own.certificate,
        key: pluginKey ?? own.key,
      };
    };
  if (!isFixed) return ownProof;
  const fixed = ownProof();
  return () => fixed;
}

function authorization({ token, username, password }: UserEntry, fromFile: string | undefined): Record<string, string> {
  const bearer = fromFile?.trim() || token;
  if (bearer !== undefined) return { authorization: `Bearer ${bearer}` };
  if (username === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` };
}

/** Whoever says so acts as another, who may do less. */
function impersonation(entry: UserEntry): Proof['headers'] {
  if ('as-user-extra' in entry) throw new Error('its user acts as one with extra values, which is not supported here.');
  return {
    ...(entry.as !== undefined && { 'impersonate-user': entry.as }),
    ...(entry['as-uid'] !== undefined && { 'impersonate-uid': entry['as-uid'] }),
    ...(entry['as-groups'] !== undefined && { 'impersonate-group': entry['as-groups'] }),
  };
}

/** What a plug-in may be told of the cluster. */
function clusterInfo({ entry, folder }: Placed<ClusterEntry>): object {
  const authorities = textOf(entry['certificate-authority-data'], entry['certificate-authority'], folder)?.();
  return {
    server: entry.server,
    ...(entry['tls-server-name'] !== undefined && { 'tls-server-name': entry['tls-server-name'] }),
    ...(entry['insecure-skip-tls-verify'] === true && { 'insecure-skip-tls-verify': true }),
    ...(authorities !== undefined && { 'certificate-authority-data': Buffer.from(authorities).toString('base64') }),
    ...(entry['proxy-url'] !== undefined && { 'proxy-url': entry['proxy-url'] }),
  };
}

/** Data goes before a file. */
function textOf(data: string | undefined, path: string | undefined, folder: string): (() => string) | undefined {
  if (data !== undefined && data !== '') {
    const text = Buffer.from(data, 'base64').toString();
    return () => text;
  }
  return path === undefined || path === '' ? undefined : fileText(resolve(folder, path));
}
