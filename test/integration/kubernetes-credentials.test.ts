// Who we are to an API server, and as what: kubeconfigs as kubectl reads them, and the files of a pod.
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openCluster } from '../../src/kubernetes/client.ts';
import { apiServer, json, kubeconfigOf, tls } from '../support/api-server.ts';

const folder = await mkdtemp(join(tmpdir(), 'acmery-credentials-'));
afterAll(() => rm(folder, { recursive: true }));
const version = { method: 'GET', path: '/version' } as const;
const echo = () => apiServer((request, response) => json(response, 200, request.headers));
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The headers that a server gets from whoever uses this user, told by a kubeconfig in a folder of its own. */
async function headersOf(user: object, files: Readonly<Record<string, string>> = {}) {
  await using api = await echo();
  const home = await mkdtemp(join(folder, 'home-'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(home, name), content, { mode: 0o700 });
  const cluster = { server: api.cluster.server, 'certificate-authority-data': base64(tls.cert) };
  await writeFile(join(home, 'config'), kubeconfigOf(cluster, user));
  await using opened = await openCluster({
    kubeconfig: join(home, 'config'),
    environment: { PATH: process.env.PATH, FROM_OUTSIDE: 'outside' },
  });
  return (await opened?.request<Record<string, string>>(version)) ?? {};
}

test.each<[string, object, string | undefined]>([
  ['a token', { token: 'one' }, 'Bearer one'],
  ['a token in a file beside the kubeconfig', { tokenFile: 'token' }, 'Bearer from-file'],
  ['a token in a file, which goes before the other', { token: 'one', tokenFile: 'token' }, 'Bearer from-file'],
  ['a name and a password', { username: 'a', password: 'b' }, `Basic ${base64('a:b')}`],
  ['nothing', {}, undefined],
  ['a plug-in beside the kubeconfig', { exec: { command: './plug-in', args: ['two words'] } }, 'Bearer two words'],
  [
    'a plug-in with variables of its own and of the program',
    { exec: { command: './variables', env: [{ name: 'OWN', value: 'own' }] } },
    'Bearer own-outside',
  ],
])('a user with %s', async (_, user, expected) => {
  const answer = (token: string) => `#!/bin/sh\necho "{\\"status\\":{\\"token\\":\\"${token}\\"}}"\n`;
  const files = { token: 'from-file\n', 'plug-in': answer('$1'), variables: answer('$OWN-$FROM_OUTSIDE') };
  expect((await headersOf(user, files)).authorization).toBe(expected);
});

test('a user that acts as another says so with every request', async () => {
  const headers = await headersOf({ token: 'x', as: 'jane', 'as-uid': '7', 'as-groups': ['readers', 'writers'] });
  expect(headers).toMatchObject({
    'impersonate-user': 'jane',
    'impersonate-uid': '7',
    'impersonate-group': 'readers, writers',
  });
});

test('nothing that proves who we are is sent without TLS', async () => {
  const path = join(folder, 'plain');
  const server = createServer((request, response) => json(response, 200, request.headers));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  await writeFile(path, kubeconfigOf({ server: `http://127.0.0.1:${portOf(server)}` }, { token: 'secret' }));
  await using cluster = await openCluster({ kubeconfig: path });
  expect(await cluster?.request(version)).not.toHaveProperty('authorization');
});

test('a plug-in is told of the cluster where it asks, and that nobody can be asked', async () => {
  const script = '#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" > told\necho \'{"status":{"token":"t"}}\'\n';
  await using api = await echo();
  const path = join(folder, 'told.kubeconfig');
  await writeFile(join(folder, 'tell'), script.replace('> told', `> ${folder}/told`), { mode: 0o700 });
  const cluster = { server: api.cluster.server, 'insecure-skip-tls-verify': true };
  await writeFile(path, kubeconfigOf(cluster, { exec: { command: './tell', provideClusterInfo: true } }));
  await using opened = await openCluster({ kubeconfig: path });
  await opened?.request(version);
  expect(JSON.parse(await readFile(join(folder, 'told'), 'utf8'))).toEqual({
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { interactive: false, cluster: { server: api.cluster.server, 'insecure-skip-tls-verify': true } },
  });
});

test('a plug-in runs again once its token has expired', async () => {
  const counter = join(folder, 'expiring.runs');
  const expired = '{"status":{"token":"t","expirationTimestamp":"2020-01-01T00:00:00Z"}}';
  const script = `echo run >> ${counter}; echo '${expired}'`;
  await using api = await apiServer((_, response) => json(response, 200, {}), {
    user: { exec: { command: 'sh', args: ['-c', script] } },
  });
  await api.cluster.request(version);
  await api.cluster.request(version);
  // Once when it was opened.
  expect(await readFile(counter, 'utf8')).toBe('run\nrun\nrun\n');
});

test.each<[string, object, string]>([
  ['an auth-provider', { 'auth-provider': { name: 'gcp' } }, 'auth-provider gcp'],
  ['a plug-in that needs a terminal', { exec: { command: 'x', interactiveMode: 'Always' } }, 'interactiveMode'],
  ['a plug-in without a command', { exec: {} }, 'without a command'],
  [
    'a plug-in that is not there',
    { exec: { command: 'no-such-plug-in', installHint: 'Install it so.' } },
    'Install it so.',
  ],
  ['a plug-in that prints no JSON', { exec: { command: 'echo', args: ['secret'] } }, 'did not print'],
  ['a plug-in that gives nothing', { exec: { command: 'echo', args: ['{}'] } }, 'neither a token nor'],
  ['one to act as with extra values', { as: 'x', 'as-user-extra': { a: ['b'] } }, 'extra values'],
])('a user with %s is refused with a reason', async (_, user, expected) => {
  const failure = await headersOf(user).then(String, String);
  expect(failure).toContain(expected);
  expect(failure).toContain('Cannot use kubeconfig');
  expect(failure).not.toContain('secret');
});

test('a proxy of a kind that is not spoken is refused', async () => {
  const path = join(folder, 'socks.kubeconfig');
  await writeFile(path, kubeconfigOf({ server: 'https://127.0.0.1:1', 'proxy-url': 'socks5://127.0.0.1:2' }, {}));
  await expect(openCluster({ kubeconfig: path })).rejects.toMatchObject({
    reason: 'NoCredentials',
    message: expect.stringContaining('socks5:'),
  });
});

test('of several kubeconfigs the entries are put together, and one that is missing is passed over', async () => {
  await using api = await echo();
  const cluster = { server: api.cluster.server, 'certificate-authority-data': base64(tls.cert) };
  const [contexts, users, others] = ['contexts', 'users', 'others'].map((name) => join(folder, name));
  const context = { cluster: 'c', user: 'u', namespace: 'ns' };
  await writeFile(`${contexts}`, JSON.stringify({ 'current-context': 'x', contexts: [{ name: 'x', context }] }));
  await writeFile(`${users}`, JSON.stringify({ users: [{ name: 'u', user: { token: 'first' } }] }));
  await writeFile(
    `${others}`,
    JSON.stringify({
      users: [{ name: 'u', user: { token: 'second' } }],
      clusters: [{ name: 'c', cluster }],
      'current-context': 'y',
    }),
  );
  const kubeconfig = [contexts, join(folder, 'missing'), users, others].join(delimiter);
  await using opened = await openCluster({ kubeconfig });
  expect(opened?.namespace).toBe('ns');
  expect(await opened?.request(version)).toMatchObject({ authorization: 'Bearer first' });
});

test('a proxy of the kubeconfig is gone through', async () => {
  await using api = await echo();
  const path = join(folder, 'proxy.kubeconfig');
  const asked: string[] = [];
  const server = connectProxy((port) => asked.push(`${port}`));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const cluster = {
    server: api.cluster.server,
    'certificate-authority-data': base64(tls.cert),
    'proxy-url': `http://127.0.0.1:${portOf(server)}`,
  };
  await writeFile(path, kubeconfigOf(cluster, { token: 'x' }));
  await using opened = await openCluster({ kubeconfig: path });
  expect(await opened?.request(version)).toMatchObject({ authorization: 'Bearer x' });
  expect(asked).toEqual([new URL(api.cluster.server).port]);
});

test('in a pod the files of the ServiceAccount say who we are, also after they were renewed', async () => {
  await using api = await echo();
  const { hostname, port } = new URL(api.cluster.server);
  const files = join(folder, 'pod');
  await mkdir(files);
  const renew = async (name: string, content: string): Promise<void> => {
    await writeFile(join(files, `${name}.new`), content);
    await rename(join(files, `${name}.new`), join(files, name));
  };
  await renew('token', 'pod-1');
  await renew('ca.crt', tls.cert);
  await renew('namespace', 'acmery-system');
  const environment = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  await using cluster = await openCluster({ serviceAccount: files, environment });
  expect(cluster?.namespace).toBe('acmery-system');
  expect(await cluster?.request(version)).toMatchObject({ authorization: 'Bearer pod-1' });
  await renew('token', 'pod-2');
  expect(await cluster?.request(version)).toMatchObject({ authorization: 'Bearer pod-2' });
});

test('a pod without the address of its API server is told so', async () => {
  const files = join(folder, 'lost-pod');
  await mkdir(files);
  await writeFile(join(files, 'token'), 'x');
  await expect(openCluster({ serviceAccount: files, environment: {} })).rejects.toMatchObject({
    reason: 'NoCredentials',
    message: expect.stringContaining('KUBERNETES_SERVICE_HOST'),
  });
});

test('an address of IPv6 stands in brackets', async () => {
  const files = join(folder, 'pod-6');
  await mkdir(files);
  for (const [name, content] of Object.entries({ token: 'x', 'ca.crt': tls.cert }))
    await writeFile(join(files, name), content);
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
  await using cluster = await openCluster({ serviceAccount: files, environment });
  expect(cluster?.server).toBe('https://[fd00::1]:443');
});

function portOf(server: Server): number {
  const address = server.address();
  return address !== null && typeof address === 'object' ? address.port : 0;
}

function joined(one: Socket, port: number): void {
  const other = connect(port, '127.0.0.1');
  one.pipe(other).pipe(one);
  for (const socket of [one, other]) socket.on('error', () => undefined);
}

function connectProxy(asked: (port: number) => void): Server {
  return createServer().on('connect', (request, socket) => {
    const port = Number(new URL(`http://${request.url}`).port);
    asked(port);
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    joined(socket as Socket, port);
  });
}
