// The API server here is a plain HTTPS server: these tests are about connections, credentials, retries and errors.
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openCluster } from '../../src/kubernetes/client.ts';
import { ClusterError } from '../../src/kubernetes/cluster-error.ts';
import { heldBy } from '../../src/kubernetes/held-by.ts';
import { apiServer, json, kubeconfigOf, serverCertificate, status, tls } from '../support/api-server.ts';

const folder = await mkdtemp(join(tmpdir(), 'acmery-cluster-'));
afterAll(() => rm(folder, { recursive: true }));

test('a request carries method, path, body, content type and token, and gives the JSON of the answer', async () => {
  await using api = await apiServer(async (request, response) =>
    json(response, 200, {
      method: request.method,
      path: request.url,
      token: request.headers.authorization,
      contentType: request.headers['content-type'],
      body: JSON.parse(await text(request)),
    }),
  );
  const body = { metadata: { name: 'ä' } };
  const request = {
    method: 'PATCH',
    path: '/api/v1/x?force=true',
    body,
    contentType: 'application/apply-patch+yaml',
  } as const;
  expect(await api.cluster.request(request)).toEqual({
    method: 'PATCH',
    path: '/api/v1/x?force=true',
    token: 'Bearer token-1',
    contentType: 'application/apply-patch+yaml',
    body,
  });
});

test('a path in the address of the server stands before every path', async () => {
  await using api = await apiServer((request, response) => json(response, 200, request.url), { basePath: '/k8s/c-1/' });
  expect(await api.cluster.request({ method: 'GET', path: '/version' })).toBe('/k8s/c-1/version');
});

test('200 calls one after the other use at most four connections', async () => {
  await using api = await apiServer((_request, response) => json(response, 200, {}));
  for (let call = 0; call < 200; call++) await api.cluster.request({ method: 'GET', path: '/version' });
  expect(api.requests).toHaveLength(200);
  expect(api.connections()).toBeLessThanOrEqual(4);
});

test('200 calls at once use at most 32 connections', async () => {
  await using api = await apiServer((_request, response) => json(response, 200, {}));
  await Promise.all(Array.from({ length: 200 }, () => api.cluster.request({ method: 'GET', path: '/version' })));
  expect(api.connections()).toBeLessThanOrEqual(32);
});

test('a renewed ca.crt is used without a restart', async () => {
  await using api = await apiServer((_request, response) => json(response, 200, {}));
  await api.cluster.request({ method: 'GET', path: '/version' });
  await writeFile(api.caFile, serverCertificate().cert);
  await expect(api.cluster.request({ method: 'GET', path: '/version' })).rejects.toMatchObject({
    reason: 'Unreachable',
  });
  await writeFile(api.caFile, tls.cert);
  expect(await api.cluster.request({ method: 'GET', path: '/version' })).toEqual({});
});

test('connections made with a former ca.crt are closed', async () => {
  await using api = await apiServer((_request, response) => json(response, 200, {}));
  await api.cluster.request({ method: 'GET', path: '/version' });
  await writeFile(api.caFile, `${serverCertificate().cert}${tls.cert}`);
  await api.cluster.request({ method: 'GET', path: '/version' });
  await expect.poll(api.openConnections).toBe(1);
  expect(api.connections()).toBe(2);
});

test('a server whose certificate is of another CA is not spoken to', async () => {
  await using api = await apiServer((_request, response) => json(response, 200, {}), { ca: serverCertificate().cert });
  const error = await failureOf(api.cluster.request({ method: 'GET', path: '/version' }));
  expect(error).toMatchObject({ code: 0, reason: 'Unreachable' });
  expect(error.message).toContain('self-signed certificate');
  expect(api.requests).toEqual([]);
});

test('a 401 reads the kubeconfig anew, once for all requests, and each is sent again', async () => {
  await using api = await apiServer((request, response) =>
    request.headers.authorization === 'Bearer token-2'
      ? json(response, 200, 'welcome')
      : json(response, 401, status('Unauthorized', 'Unauthorized')),
  );
  await api.setToken('token-2');
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => api.cluster.request({ method: 'GET', path: '/version' })),
  );
  expect(replies).toEqual(Array(20).fill('welcome'));
  expect(await api.cluster.request({ method: 'GET', path: '/version' })).toBe('welcome');
  expect(api.requests.filter(({ headers }) => headers.authorization === 'Bearer token-2')).toHaveLength(21);
});

test('a second 401 is an error', async () => {
  await using api = await apiServer((_request, response) =>
    json(response, 401, status('Unauthorized', 'Unauthorized')),
  );
  await expect(api.cluster.request({ method: 'GET', path: '/version' })).rejects.toMatchObject({
    code: 401,
    reason: 'Unauthorized',
  });
  expect(api.requests).toHaveLength(2);
});

test.each([
  [404, 'NotFound', 'secrets "x" not found'],
  [409, 'AlreadyExists', 'secrets "x" already exists'],
  [409, 'Conflict', 'the object has been modified'],
  [422, 'Invalid', 'spec.slug: Invalid value'],
  [500, 'InternalError', 'etcdserver: request timed out'],
])('a Status %i %s is an error with its code, reason and message', async (code, reason, message) => {
  await using api = await apiServer((_request, response) => json(response, code, status(reason, message)));
  const error = await failureOf(api.cluster.request({ method: 'POST', path: '/api/v1/secrets', body: {} }));
  expect(error).toMatchObject({ code, reason, message: `POST /api/v1/secrets: ${code} ${reason}: ${message}` });
  expect(api.requests).toHaveLength(1);
});

test.each([
  [404, 'NotFound'],
  [503, 'ServiceUnavailable'],
  [502, 'Unknown'],
])('an answer %i that is no Status has the reason %s and shows the beginning of its text', async (code, reason) => {
  await using api = await apiServer((_request, response) => {
    response.writeHead(code, { 'content-type': 'text/html' }).end(`<h1>proxy</h1>${'x'.repeat(10_000)}`);
  });
  const error = await failureOf(api.cluster.request({ method: 'GET', path: '/version' }));
  expect(error).toMatchObject({ code, reason });
  expect(error.message).toContain('<h1>proxy</h1>');
  expect(error.message.length).toBeLessThan(300);
});

test('a success that is not JSON is an error that doubts the address', async () => {
  await using api = await apiServer((_request, response) => response.end('<h1>Log in</h1>'));
  const error = await failureOf(api.cluster.request({ method: 'GET', path: '/version' }));
  expect(error).toMatchObject({ code: 200, reason: 'NotKubernetes' });
});

test('a success without a body gives undefined', async () => {
  await using api = await apiServer((_request, response) => response.end());
  expect(await api.cluster.request({ method: 'DELETE', path: '/api/v1/x' })).toBeUndefined();
});

test.each([429, 503])('a %i with Retry-After is waited out and the request sent again', async (code) => {
  const answers: number[] = [code, code];
  await using api = await apiServer((_request, response) => {
    response.setHeader('retry-after', answers.length === 2 ? '1' : '0');
    json(response, answers.shift() ?? 200, {});
  });
  expect(await api.cluster.request({ method: 'POST', path: '/api/v1/x', body: { a: 1 } })).toEqual({});
  expect(api.requests.map(({ body }) => body)).toEqual(Array(3).fill('{"a":1}'));
  const [first, second] = api.requests;
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(990);
});

test('what must not be sent any more is not sent again either', async () => {
  await using api = await apiServer((_request, response) => {
    response.setHeader('retry-after', '0');
    json(response, 429, status('TooManyRequests', 'slow down'));
  });
  let asked = 0;
  const leadership = {
    requireHeld() {
      if (++asked > 2) throw new Error('others lead');
    },
  };
  const path = '/api/v1/x';
  await expect(heldBy(leadership, api.cluster).request({ method: 'POST', path, body: {} })).rejects.toThrow('lead');
  expect(api.requests).toHaveLength(2);
});

test('after three retries the answer stands', async () => {
  await using api = await apiServer((_request, response) => {
    response.setHeader('retry-after', '0');
    json(response, 429, status('TooManyRequests', 'slow down'));
  });
  await expect(api.cluster.request({ method: 'GET', path: '/version' })).rejects.toMatchObject({ code: 429 });
  expect(api.requests).toHaveLength(4);
});

test('a Retry-After beyond the deadline is not waited for but told', async () => {
  await using api = await apiServer((_request, response) => {
    response.setHeader('retry-after', '3600');
    json(response, 503, status('ServiceUnavailable', 'upgrade under way'));
  });
  const error = await failureOf(api.cluster.request({ method: 'GET', path: '/version' }));
  expect(error).toMatchObject({ code: 503, retryAfterMs: 3_600_000 });
  expect(api.requests).toHaveLength(1);
});

test.each([
  ['503', 'without Retry-After', undefined],
  ['500', 'though it has Retry-After', '0'],
])('a %s is not sent again %s', async (code, _why, retryAfter) => {
  await using api = await apiServer((_request, response) => {
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
    json(response, Number(code), {});
  });
  await failureOf(api.cluster.request({ method: 'GET', path: '/version' }));
  expect(api.requests).toHaveLength(1);
});

test('the deadline ends a request whose answer does not come, or comes only in part', async () => {
  await using api = await apiServer((request, response) => {
    if (request.url === '/half') response.writeHead(200, { 'content-length': '100' }).write('{');
  });
  for (const path of ['/silent', '/half']) {
    const error = await failureOf(api.cluster.request({ method: 'GET', path, timeoutMs: 100 }));
    expect(error).toMatchObject({ code: 0, reason: 'Timeout' });
    expect(error.message).toContain('did not answer within 100 ms');
  }
});

test('the deadline ends a request that waits for a connection', { timeout: 5_000 }, async () => {
  // Accepts and says nothing, as behind a firewall that drops what comes back.
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const kubeconfig = join(folder, 'silent.kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf({ server: `https://127.0.0.1:${port}` }, { token: 'x' }));
  await using cluster = await openCluster({ kubeconfig });
  await expect(cluster?.request({ method: 'GET', path: '/x', timeoutMs: 100 })).rejects.toMatchObject({
    reason: 'Timeout',
  });
});

test('an abort ends the request with its reason, before and while it runs', async () => {
  const stop = new AbortController();
  const reason = new Error('shutting down');
  await using api = await apiServer(() => stop.abort(reason));
  const { signal } = stop;
  await expect(api.cluster.request({ method: 'GET', path: '/silent', signal })).rejects.toBe(reason);
  await expect(api.cluster.request({ method: 'GET', path: '/late', signal })).rejects.toBe(reason);
  expect(api.requests).toHaveLength(1);
});

test('an abort ends the wait before a retry', { timeout: 5_000 }, async () => {
  const stop = new AbortController();
  const reason = new Error('shutting down');
  await using api = await apiServer((request, response) => {
    // The client closes the connection once it has the answer.
    request.socket.once('close', () => setImmediate(() => stop.abort(reason)));
    response.setHeader('retry-after', '20').setHeader('connection', 'close');
    json(response, 429, {});
  });
  await expect(api.cluster.request({ method: 'GET', path: '/x', signal: stop.signal })).rejects.toBe(reason);
});

test('a server that is away is an error that names it', async () => {
  const api = await apiServer(() => undefined);
  await using cluster = api.cluster;
  await api.stop();
  const error = await failureOf(cluster.request({ method: 'GET', path: '/version' }));
  expect(error).toMatchObject({ code: 0, reason: 'Unreachable' });
  expect(error.message).toContain(cluster.server);
});

test('an exec plug-in gives the token, runs once for many requests, and again after a 401', async () => {
  const runs = join(folder, 'plug-in.runs');
  const credential = (token: string) =>
    `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"${token}"}}`;
  const script = `echo run >> ${runs}; if [ $(wc -l < ${runs}) = 1 ]; then echo '${credential('old')}'; else echo '${credential('new')}'; fi`;
  await using api = await apiServer(
    (request, response) => json(response, request.headers.authorization === 'Bearer new' ? 200 : 401, {}),
    { user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] } } },
  );
  const calls = Array.from({ length: 20 }, () => api.cluster.request({ method: 'GET', path: '/version' }));
  expect(await Promise.all(calls)).toEqual(Array(20).fill({}));
  expect(await readFile(runs, 'utf8')).toBe('run\nrun\n');
});

test('the deadline ends a request that waits for an exec plug-in', async () => {
  const runs = join(folder, 'slow-plug-in.runs');
  const script = `echo run >> ${runs}; [ $(wc -l < ${runs}) = 1 ] || exec sleep 2; echo '{"status":{"token":"old"}}'`;
  await using api = await apiServer((_request, response) => json(response, 401, {}), {
    user: { exec: { command: 'sh', args: ['-c', script] } },
  });
  await expect(api.cluster.request({ method: 'GET', path: '/x', timeoutMs: 500 })).rejects.toMatchObject({
    reason: 'Timeout',
  });
});

test.each([
  ['that is not there', undefined, 'no such file'],
  ['that is no YAML', '{{', 'Cannot use kubeconfig'],
  ['without a current context', kubeconfigOf({ server: 'https://127.0.0.1:1' }, {}, 'other'), 'names no cluster'],
  ['with a server that is no URL', kubeconfigOf({ server: 'over there' }, {}), 'no cluster with a usable address'],
  [
    'whose plug-in fails',
    kubeconfigOf(
      { server: 'https://127.0.0.1:1' },
      { exec: { command: 'sh', args: ['-c', 'echo log in first >&2; exit 1'] } },
    ),
    'log in first',
  ],
])('a kubeconfig %s is refused at once, by its path', async (what, content, expected) => {
  const path = join(folder, what.replaceAll(' ', '-'));
  if (content !== undefined) await writeFile(path, content);
  const error = await failureOf(openCluster({ kubeconfig: path }));
  expect(error).toMatchObject({ code: 0, reason: 'NoCredentials' });
  expect(error.message).toContain(path);
  expect(error.message).toContain(expected);
});

test('of several kubeconfigs the first that names a context decides', async () => {
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  await writeFile(first, kubeconfigOf({ server: 'https://first.example' }, {}, 'first', 'first'));
  await writeFile(second, kubeconfigOf({ server: 'https://second.example' }, {}, 'second', 'second'));
  await using cluster = await openCluster({ kubeconfig: [first, second].join(delimiter) });
  expect(cluster?.server).toBe('https://first.example');
});

test('without kubeconfig and ServiceAccount there is no cluster', async () => {
  expect(await openCluster({})).toBeUndefined();
});

test('the namespace is that of the context', async () => {
  await using api = await apiServer(() => undefined);
  expect(api.cluster.namespace).toBe('acmery-system');
});

async function failureOf(work: Promise<unknown>): Promise<ClusterError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ClusterError)) throw new Error(`expected a ClusterError, got ${error}`);
  return error;
}
