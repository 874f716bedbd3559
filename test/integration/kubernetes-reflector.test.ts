// A collection is followed through everything that servers and networks do to watches.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { BackOff } from '../../src/kubernetes/back-off.ts';
import { Cache } from '../../src/kubernetes/cache.ts';
import type { KubernetesObject } from '../../src/kubernetes/kubernetes-object.ts';
import { type Reflection, reflect } from '../../src/kubernetes/reflector.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { apiServer, type Handler, json, status } from '../support/api-server.ts';
import { capturedLog } from '../support/captured-log.ts';
import { eventually } from '../support/eventually.ts';

const PATH = '/apis/example.io/v1/things';

const thing = (name: string, version: number, more: object = {}): KubernetesObject => ({
  metadata: { name, namespace: 'shop', uid: `uid-of-${name}`, resourceVersion: `${version}`, ...more },
});
const added = (object: KubernetesObject) => ({ type: 'ADDED', object });
const bookmark = (version: number, annotations = {}) => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: `${version}`, annotations } },
});
const end = (version: number) => bookmark(version, { 'k8s.io/initial-events-end': 'true' });

/** Sends these at once; the watch stays open. */
const sends =
  (...events: readonly object[]): Handler =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    for (const event of events) response.write(`${JSON.stringify(event)}\n`);
  };
const thenEnds =
  (handler: Handler): Handler =>
  (request, response) => {
    handler(request, response);
    response.end();
  };
const answers =
  (code: number, body: object = {}, headers: Readonly<Record<string, string>> = {}): Handler =>
  (_request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    json(response, code, body);
  };

type Given = Partial<Pick<Reflection, 'inactivityMs' | 'isOptional' | 'labelSelector' | 'backOff'>>;

/** Answers each request by the next handler, and all later ones by the last. */
async function following(handlers: readonly Handler[], given: Given = {}) {
  const waiting = [...handlers];
  const api = await apiServer((request: IncomingMessage, response: ServerResponse) =>
    (waiting.length > 1 ? waiting.shift() : waiting[0])?.(request, response),
  );
  const captured = capturedLog();
  const metrics = createMetrics();
  const changes: string[] = [];
  const say = (object: KubernetesObject | undefined) =>
    object && `${object.metadata.name}@${object.metadata.resourceVersion}`;
  const cache = new Cache({
    keep: (object) => object,
    changed: (before, after) => changes.push(`${say(before) ?? ''} -> ${say(after) ?? ''}`),
  });
  const stop = new AbortController();
  const events = createEvents(captured.log, metrics);
  const ended = reflect(
    { cluster: api.cluster, events, cache, path: PATH, backOff: new BackOff({ shortestMs: 5 }), ...given },
    stop.signal,
  );
  const queries = () => api.requests.map(({ url }) => new URL(url, 'https://x').searchParams);
  return {
    api,
    cache,
    changes,
    metrics,
    records: captured.records,
    stop,
    ended,
    /** What each request asked for, oldest first. */
    queries,
    versions: () => queries().map((query) => query.get('resourceVersion') ?? 'all'),
    shows: (...names: readonly string[]) =>
      eventually(`the cache shows ${names}`, () => {
        const shown = cache.list().map(({ metadata: { name, resourceVersion } }) => `${name}@${resourceVersion}`);
        return shown.sort().join() === [...names].sort().join();
      }),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      await api[Symbol.asyncDispose]();
    },
  };
}

test('what there is comes as events of one watch, which goes on', async () => {
  const late = { type: 'MODIFIED', object: thing('a', 12) };
  await using it = await following([sends(added(thing('a', 5)), added(thing('b', 7)), end(10), late)]);
  await it.cache.filled;
  await it.shows('a@12', 'b@7');
  expect(it.changes).toEqual([' -> a@5', ' -> b@7', 'a@5 -> a@12']);
  const [query] = it.queries();
  expect(Object.fromEntries(query ?? [])).toMatchObject({
    watch: 'true',
    allowWatchBookmarks: 'true',
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
  });
  const seconds = Number(query?.get('timeoutSeconds'));
  expect(Math.abs(seconds - 290)).toBeLessThanOrEqual(20);
});

test('nothing is told before all of it has come', async () => {
  await using it = await following([sends(added(thing('a', 5)))], { inactivityMs: 300 });
  await eventually('it is tried again', () => it.api.requests.length > 1);
  expect(it.changes).toEqual([]);
});

test('a server that does not send what there is as events is asked for pages, and then for a watch', async () => {
  const page = (names: readonly string[], next: string) => ({
    metadata: { resourceVersion: '30', continue: next },
    items: names.map((name) => thing(name, 3)),
  });
  await using it = await following(
    [
      answers(422, status('Invalid', 'sendInitialEvents is forbidden')),
      answers(200, page(['a', 'b'], 'more')),
      answers(200, page(['c'], '')),
      sends(),
    ],
    { labelSelector: '!acmery.io/class' },
  );
  await it.shows('a@3', 'b@3', 'c@3');
  await eventually('it watches', () => it.api.requests.length === 4);
  const [, first, second, watch] = it.queries().map((query) => Object.fromEntries(query));
  expect(first).toEqual({ limit: '500', labelSelector: '!acmery.io/class' });
  expect(second).toEqual({ limit: '500', labelSelector: '!acmery.io/class', continue: 'more' });
  expect(watch).toMatchObject({ watch: 'true', resourceVersion: '30', labelSelector: '!acmery.io/class' });
});

const gone = status('Expired', 'too old resource version: 10 (20)');
test.each([
  ['an answer', answers(410, gone)],
  ['an event of the watch', sends({ type: 'ERROR', object: { ...gone, code: 410 } })],
  ['a version of another server', answers(400, status('BadRequest', 'invalid resource version'))],
  ['a version from the future', answers(504, status('Timeout', 'Too large resource version'))],
])('history that is gone, as %s, is made up for by everything anew', async (_what, refusal) => {
  await using it = await following([
    thenEnds(sends(added(thing('a', 5)), added(thing('b', 7)), end(10))),
    refusal,
    sends(added(thing('b', 7)), added(thing('c', 15)), end(20)),
  ]);
  await it.shows('b@7', 'c@15');
  expect(it.changes).toEqual([' -> a@5', ' -> b@7', 'a@5 -> ', ' -> c@15']);
  expect(it.versions()).toEqual(['all', '10', 'all']);
  expect(it.records().filter(({ level }) => level === 'error')).toEqual([]);
});

test('a watch that ends is taken up where it was', async () => {
  await using it = await following([
    thenEnds(sends(added(thing('a', 5)), end(10), bookmark(18))),
    sends(added(thing('b', 20))),
  ]);
  await it.shows('a@5', 'b@20');
  expect(it.versions()).toEqual(['all', '18']);
});

test('a watch that falls silent is given up and taken up where it was', async () => {
  await using it = await following([sends(added(thing('a', 5)), end(10)), sends(added(thing('b', 20)))], {
    inactivityMs: 300,
  });
  await it.shows('a@5', 'b@20');
  expect(it.versions().slice(0, 2)).toEqual(['all', '10']);
});

test('a quiet watch with its bookmarks is left alone', async () => {
  let beats = 0;
  const quiet: Handler = (request, response) => {
    sends(added(thing('a', 5)), end(10))(request, response);
    const timer = setInterval(() => response.write(`${JSON.stringify(bookmark(10 + beats++))}\n`), 100);
    response.on('close', () => clearInterval(timer));
  };
  await using it = await following([quiet], { inactivityMs: 1_000 });
  await eventually('it has been quiet for twice as long as silence may last', () => beats >= 20);
  expect(it.api.requests).toHaveLength(1);
});

const cuts: Handler = (_request, response) => response.socket?.destroy();
test.each([
  ['403', answers(403, status('Forbidden', 'not yours'))],
  ['404', answers(404, status('NotFound', 'no such resource'))],
  ['429', answers(429, status('TooManyRequests', 'slow down'))],
  ['500', answers(500, status('InternalError', 'etcdserver: no leader'))],
  ['503 of a proxy', answers(503)],
  ['a reset', cuts],
  [
    'a reset within a line',
    (request: IncomingMessage, response: ServerResponse) => {
      sends()(request, response);
      response.write('{"type":"ADDED","obj');
      setImmediate(() => response.socket?.destroy());
    },
  ],
  [
    'a page of a proxy',
    thenEnds((_request, response: ServerResponse) => response.writeHead(200).write('<h1>Log in</h1>\n')),
  ],
])('%s is not the end of it, before and after all has come', async (_what, failure) => {
  await using it = await following([
    failure,
    thenEnds(sends(added(thing('a', 5)), end(10))),
    failure,
    sends(added(thing('b', 20))),
  ]);
  await it.shows('a@5', 'b@20');
  expect(it.versions()).toEqual(['all', 'all', '10', '10']);
  expect(await it.metrics.text()).toContain(`acmery_watch_failures_total{resource="${PATH}"} 3`);
});

test('a 401 reads the credentials anew and goes on at once', async () => {
  const refused: Handler = (request, response) =>
    request.headers.authorization === 'Bearer token-2'
      ? sends(added(thing('a', 5)), end(10))(request, response)
      : answers(401, status('Unauthorized', 'Unauthorized'))(request, response);
  const api = await apiServer(refused);
  await using cluster = api.cluster;
  await api.setToken('token-2');
  const cache = new Cache({ keep: (object) => object, changed: () => undefined });
  const stop = new AbortController();
  const events = createEvents(capturedLog().log, createMetrics());
  const ended = reflect({ cluster, events, cache, path: PATH }, stop.signal);
  await cache.filled;
  expect(api.requests).toHaveLength(2);
  stop.abort();
  await ended;
  await api.stop();
});

test('the server says when to come again', async () => {
  await using it = await following([
    answers(429, status('TooManyRequests', 'slow down'), { 'retry-after': '1' }),
    sends(added(thing('a', 5)), end(10)),
  ]);
  await it.shows('a@5');
  const [first, second] = it.api.requests;
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(990);
});

test('a server that ends every watch at once is not asked at once', async () => {
  await using it = await following([sends(added(thing('a', 5)), end(10)), sends()].map(thenEnds), {
    backOff: new BackOff({ shortestMs: 300 }),
  });
  await eventually('it was asked three times', () => it.api.requests.length === 3);
  const [, second, third] = it.api.requests;
  expect((third?.atMs ?? 0) - (second?.atMs ?? 0)).toBeGreaterThan(290);
});

test('an object of a new uid is told as one that went and one that came', async () => {
  const other = thing('a', 12, { uid: 'another' });
  await using it = await following([sends(added(thing('a', 5)), end(10), { type: 'MODIFIED', object: other })]);
  await it.shows('a@12');
  expect(it.changes).toEqual([' -> a@5', 'a@5 -> ', ' -> a@12']);
});

test('what only other writers need is not kept', async () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', 'acmery.io/paused': 'true' };
  await using it = await following([
    sends(added(thing('a', 5, { managedFields: [{ manager: 'kubectl' }], annotations })), end(10)),
  ]);
  await it.cache.filled;
  expect(it.cache.get('shop', 'a')?.metadata).toEqual({
    ...thing('a', 5).metadata,
    annotations: { 'acmery.io/paused': 'true' },
  });
});

test('events are read however they are cut', async () => {
  const bytes = Buffer.from(
    [added(thing('a', 5, { annotations: { 'acmery.io/renew': 'ä€' } })), end(10)]
      .map((event) => `${JSON.stringify(event)}\n`)
      .join(''),
  );
  await using it = await following([
    async (_request, response) => {
      response.writeHead(200);
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  ]);
  await it.cache.filled;
  expect(it.cache.get('shop', 'a')?.metadata.annotations).toEqual({ 'acmery.io/renew': 'ä€' });
});

test('a handler that throws is told as a bug, and following goes on with everything anew', async () => {
  const api = await apiServer(sends(added(thing('a', 5)), end(10)));
  await using cluster = api.cluster;
  const captured = capturedLog();
  const events = createEvents(captured.log, createMetrics());
  let replaced = 0;
  const cache = {
    replace: () => {
      replaced++;
      if (replaced === 1) throw new Error('a bug');
    },
    put: () => undefined,
    remove: () => undefined,
  };
  const stop = new AbortController();
  const ended = reflect({ cluster, events, cache, path: PATH }, stop.signal);
  await eventually('it was replaced again', () => replaced === 2);
  expect(captured.text()).toContain('internal error');
  stop.abort();
  await ended;
  await api.stop();
});

test('a collection that the server does not know is waited for quietly where that is expected', async () => {
  const missing = answers(404, status('NotFound', 'no such resource'));
  await using it = await following([missing, missing, missing, sends(added(thing('a', 5)), end(10))], {
    isOptional: true,
  });
  await it.shows('a@5');
  expect(it.records().filter(({ level }) => level !== 'debug' && level !== 'info')).toEqual([]);
});

test('an abort ends the following, the wait between tries too', async () => {
  await using it = await following([answers(500)]);
  await eventually('it has failed', () =>
    it.records().some(({ message }) => String(message).startsWith('watch interrupted')),
  );
  it.stop.abort();
  await it.ended;
});

test('watches take no connections from requests', async () => {
  const api = await apiServer((request, response) =>
    request.url?.startsWith('/version') ? json(response, 200, {}) : sends(end(10))(request, response),
  );
  await using cluster = api.cluster;
  const stop = new AbortController();
  const events = createEvents(capturedLog().log, createMetrics());
  const caches = Array.from({ length: 40 }, () => new Cache({ keep: (object) => object, changed: () => undefined }));
  const ended = caches.map((cache) => reflect({ cluster, events, cache, path: PATH }, stop.signal));
  await Promise.all(caches.map(({ filled }) => filled));
  expect(await cluster.request({ method: 'GET', path: '/version' })).toEqual({});
  stop.abort();
  await Promise.all(ended);
  await api.stop();
});
