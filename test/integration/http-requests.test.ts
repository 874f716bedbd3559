// What a door sees of a request and what a client sees of a reply, over real sockets.
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { problemReply } from '../../src/http/problem.ts';
import type { HttpHead, HttpRequest } from '../../src/http/route.ts';
import { gate, listening, row } from '../support/listening.ts';

const ok = () => ({ status: 200, body: 'ok' });
const echo = (request: HttpRequest) => ({
  status: 200,
  body: JSON.stringify({ ...request, query: [...request.query], headers: undefined, body: request.body.toString() }),
});

describe('a request', () => {
  test('reaches its row with url, path, parameters, repeated query values and body as sent', async () => {
    await using server = await listening({ routes: [row('POST', '/acme/:slug/order/:id', echo)] });

    const reply = await fetch(server.url('/acme/w%65b/order/a%2Fb?x=1&x=2&y=%20z'), {
      method: 'POST',
      body: '{"a":1}',
    });

    expect(await reply.json()).toMatchObject({
      method: 'POST',
      url: '/acme/w%65b/order/a%2Fb?x=1&x=2&y=%20z',
      path: '/acme/w%65b/order/a%2Fb',
      params: { slug: 'web', id: 'a/b' },
      query: [
        ['x', '1'],
        ['x', '2'],
        ['y', ' z'],
      ],
      body: '{"a":1}',
      clientAddress: '127.0.0.1',
    });
  });

  test('may end in a wildcard, which keeps its slashes', async () => {
    await using server = await listening({ routes: [row('GET', '/ocsp/:id/*request', echo)] });

    const reply = await fetch(server.url('/ocsp/1/MEE//w%2Bx%2F=='));

    expect(await reply.json()).toMatchObject({ params: { id: '1', request: 'MEE//w+x/==' } });
  });

  test('is matched exactly: case and trailing slash count', async () => {
    await using server = await listening({ routes: [row('GET', '/directory', ok)] });

    const statuses = await Promise.all(
      ['/directory', '/directory/', '/Directory'].map(async (path) => (await fetch(server.url(path))).status),
    );

    expect(statuses).toEqual([200, 404, 404]);
  });

  test('is admitted by its head before a byte of the body is read', async () => {
    const refuse = (head: HttpHead) => {
      if (head.headers.authorization === undefined) throw new Error('no credential');
      return ok;
    };
    const replyTo = (error: unknown) => problemReply({ status: 401, detail: String(error) });
    await using server = await listening({
      replyTo,
      routes: [{ method: 'POST', path: '/v1/x', bodyCapBytes: 100, admit: refuse }],
    });
    using client = await server.raw();

    client.send('POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n');

    expect(await client.until(/no credential/)).toContain('HTTP/1.1 401');
  });

  test('in absolute form asks for its path', async () => {
    await using server = await listening({ routes: [row('GET', '/a', echo)] });
    using client = await server.raw();

    client.send('GET http://other.example/a?b=1 HTTP/1.1\r\nHost: a\r\n\r\n');

    expect(await client.until(/"url"/)).toContain('"url":"/a?b=1"');
  });

  test('of HTTP/1.1 without a Host header is malformed', async () => {
    await using server = await listening({ routes: [row('GET', '/a', ok)] });
    using client = await server.raw();

    client.send('GET /a HTTP/1.1\r\n\r\n');

    expect(await client.until(/Host header/)).toMatch(/^HTTP\/1.1 400 [\s\S]*application\/problem\+json/);
  });

  test('with two Host headers is malformed', async () => {
    await using server = await listening({ routes: [row('GET', '/a', ok)] });
    using client = await server.raw();

    client.send('GET /a HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n');

    expect(await client.until(/malformed_request|200 OK/)).toContain('HTTP/1.1 400');
  });

  test.each(['/a%', '/a%zz', '/a%ff', '/a%c3%28', '/nowhere/%e0%a4', '/a#b', '/a?b=#c'])(
    'to %s is a malformed path',
    async (path) => {
      await using server = await listening({ routes: [row('GET', '/:any', ok)] });
      using client = await server.raw();

      client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);

      expect(await client.until(/malformed_path/)).toContain('HTTP/1.1 400');
    },
  );

  test('whose client goes away aborts its signal and is logged without a status', async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<unknown>();
    const { promise: begun, resolve: begin } = gate();
    await using server = await listening({
      routes: [
        row('GET', '/slow', async ({ signal }) => {
          begin();
          await once(signal, 'abort');
          resolve(signal.reason);
          signal.throwIfAborted();
          return { status: 200 };
        }),
      ],
    });
    using client = await server.raw();

    client.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    await begun;
    client.socket.destroy();

    expect(await aborted).toMatchObject({ name: 'ClientGone' });
    expect(await server.requests(1)).toMatchObject([{ message: 'request abandoned', route: '/slow' }]);
    await server.listener.drain(1_000);
    expect(server.text()).not.toContain('internal error');
  });

  test('that takes too long aborts its signal and is answered 503 with Retry-After', async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<unknown>();
    await using server = await listening({
      deadlineMs: 20,
      routes: [
        row('GET', '/slow', async ({ signal }) => {
          await once(signal, 'abort');
          resolve(signal.reason);
          return ok();
        }),
      ],
    });

    const reply = await fetch(server.url('/slow'));

    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toMatch(/^[1-5]$/);
    expect(await reply.json()).toMatchObject({ code: 'deadline_passed' });
    expect(await aborted).toBeInstanceOf(Error);
  });
});

describe('methods', () => {
  const routes = [
    row('GET', '/thing', ok),
    row('PUT', '/thing', ok),
    row('DELETE', '/:other', ok),
    row('POST', '/post', ok),
  ];

  test('HEAD answers as GET does, without the body', async () => {
    await using server = await listening({ routes });

    const reply = await fetch(server.url('/thing'), { method: 'HEAD' });

    expect([reply.status, reply.headers.get('content-length'), await reply.text()]).toEqual([200, '2', '']);
  });

  test.each(['plain', 'Grüße', '証明書 €', '\u{1f512}', 'lone \ud800', ''])(
    'a body of %j arrives as UTF-8',
    async (body) => {
      await using server = await listening({
        routes: [row('GET', '/text', () => ({ status: 200, headers: { 'X-Name': 'J\u00fcrgen' }, body }))],
      });

      const reply = await fetch(server.url('/text'));

      expect(Buffer.from(await reply.arrayBuffer())).toEqual(Buffer.from(body));
      expect(reply.headers.get('x-name')).toBe('J\u00fcrgen');
    },
  );

  test('HEAD has a row of its own where GET answers otherwise', async () => {
    await using server = await listening({
      routes: [row('HEAD', '/nonce', () => ({ status: 200 })), row('GET', '/nonce', () => ({ status: 204 }))],
    });

    const [head, get] = await Promise.all([
      fetch(server.url('/nonce'), { method: 'HEAD' }),
      fetch(server.url('/nonce')),
    ]);

    expect([head.status, get.status, get.headers.get('content-length')]).toEqual([200, 204, null]);
  });

  test('another method is 405 with all that the path takes, from every row that matches it', async () => {
    await using server = await listening({ routes });

    const reply = await fetch(server.url('/thing'), { method: 'POST' });

    expect(reply.status).toBe(405);
    expect(reply.headers.get('allow')).toBe('GET, PUT, HEAD, DELETE, OPTIONS');
    expect(await reply.json()).toMatchObject({ status: 405, code: 'method_not_allowed' });
  });

  test('a later row answers where an earlier one matches the path but not the method', async () => {
    await using server = await listening({ routes });

    expect((await fetch(server.url('/thing'), { method: 'DELETE' })).status).toBe(200);
  });

  test('OPTIONS names the methods, and what other origins may send where the door allows them', async () => {
    const crossOrigin = { origin: '*', exposedHeaders: ['Link'], allowedHeaders: ['Content-Type'], maxAgeSeconds: 600 };
    await using closed = await listening({ routes });
    await using open = await listening({ routes, crossOrigin });

    const [plain, preflight, reply] = await Promise.all([
      fetch(closed.url('/post'), { method: 'OPTIONS' }),
      fetch(open.url('/post'), { method: 'OPTIONS' }),
      fetch(open.url('/nothing-here/at-all')),
    ]);

    expect([plain.status, plain.headers.get('allow')]).toEqual([204, 'POST, DELETE, OPTIONS']);
    expect(plain.headers.has('access-control-allow-origin')).toBe(false);
    expect(preflight.headers.get('access-control-allow-methods')).toBe('POST, DELETE, OPTIONS');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('Content-Type');
    expect(reply.status).toBe(404);
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    expect(reply.headers.get('access-control-expose-headers')).toBe('Link');
  });

  test('two rows for one method and path are a mistake of the table', async () => {
    await expect(listening({ routes: [row('GET', '/a', ok), row('GET', '/a', ok)] })).rejects.toThrow('GET /a');
  });
});

describe('a reply', () => {
  test('has the security headers, and the row may say otherwise', async () => {
    await using server = await listening({
      routes: [
        row('GET', '/a', ok),
        row('GET', '/crl', () => ({ status: 200, headers: { 'cache-control': 'max-age=60', Link: ['<a>', '<b>'] } })),
      ],
    });

    const plain = await fetch(server.url('/a'));
    const cached = await fetch(server.url('/crl'));

    expect(Object.fromEntries(plain.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'content-length': '2',
    });
    for (const name of ['x-powered-by', 'etag', 'strict-transport-security'])
      expect(plain.headers.has(name)).toBe(false);
    expect(cached.headers.get('cache-control')).toBe('max-age=60');
    expect(cached.headers.get('link')).toBe('<a>, <b>');
  });

  test('gets the headers of the door whatever happened to the request', async () => {
    await using server = await listening({
      finish: (reply, head) => ({ ...reply, headers: { ...reply.headers, 'Replay-Nonce': `for-${head.method}` } }),
      routes: [
        row('GET', '/a', ok),
        row('GET', '/bug', () => {
          throw new Error('bug');
        }),
      ],
    });

    const replies = await Promise.all(
      ['/a', '/bug', '/nowhere', '/%zz'].map(async (path) => {
        const { status, headers } = await fetch(server.url(path));
        return [status, headers.get('replay-nonce')];
      }),
    );

    expect(replies).toEqual([
      [200, 'for-GET'],
      [500, 'for-GET'],
      [404, 'for-GET'],
      [400, 'for-GET'],
    ]);
  });

  test('is sent without them when making them fails', async () => {
    await using server = await listening({
      finish: () => Promise.reject(new Error('no nonces')),
      routes: [row('GET', '/a', ok)],
    });

    const reply = await fetch(server.url('/a'));

    expect([reply.status, await reply.text()]).toEqual([200, 'ok']);
    expect(server.text()).toContain('no nonces');
  });

  test('that cannot be sent becomes an internal error', async () => {
    await using server = await listening({
      routes: [row('GET', '/a', () => ({ status: 200, headers: { Link: '<a>', 'X-A': 'a\r\nb' } }))],
    });

    const reply = await fetch(server.url('/a'));

    expect(reply.status).toBe(500);
    for (const name of ['link', 'x-a']) expect(reply.headers.has(name)).toBe(false);
  });

  test('to an error that nobody expected has the request id and no detail; the log has both', async () => {
    await using server = await listening({
      routes: [
        row('GET', '/bug', () => {
          throw new TypeError('secret-detail of table issued_certs');
        }),
      ],
    });

    const reply = await fetch(server.url('/bug'), { headers: { 'x-request-id': 'my-request-1' } });
    const text = await reply.text();

    expect(reply.status).toBe(500);
    expect(reply.headers.get('content-type')).toBe('application/problem+json');
    expect(JSON.parse(text)).toMatchObject({ status: 500, code: 'internal', request_id: 'my-request-1' });
    expect(text).not.toMatch(/secret-detail|TypeError|\.ts|at /);
    expect(server.records().find(({ message }) => message === 'internal error')).toMatchObject({
      where: 'test',
      requestId: 'my-request-1',
      error: { name: 'TypeError', stack: expect.stringContaining('http-requests.test.ts') },
    });
  });

  test('to an error of the door is what the door says, and an error in saying it is internal', async () => {
    await using server = await listening({
      replyTo: (error) => {
        if (error === 'known') return problemReply({ status: 422, detail: 'Known.' });
        throw new Error('bug in the mapping');
      },
      routes: [
        row('GET', '/known', () => Promise.reject('known')),
        row('GET', '/unknown', () => Promise.reject('unknown')),
      ],
    });

    const [known, unknown] = await Promise.all([fetch(server.url('/known')), fetch(server.url('/unknown'))]);

    expect([known.status, unknown.status]).toEqual([422, 500]);
  });
});

describe('request ids and the access log', () => {
  test.each([
    ['trace-me.0001_A', true],
    ['short', false],
    ['x'.repeat(65), false],
    ['has space in it', false],
    ['{"json":"inside"}', false],
    ['-leading-dash-here', false],
  ])('X-Request-Id %s is taken over: %s', async (sent, isTaken) => {
    await using server = await listening({ routes: [row('GET', '/a', ok)] });

    const reply = await fetch(server.url('/a'), { headers: { 'x-request-id': sent } });

    const id = reply.headers.get('x-request-id');
    if (isTaken) expect(id).toBe(sent);
    else expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await server.requests(1)).toMatchObject([{ requestId: id }]);
  });

  test('a request is one line: pattern and path, status, size, client and trace, never the query or the body', async () => {
    await using server = await listening({ routes: [row('POST', '/v1/things/:id', ok)] });
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

    await fetch(server.url('/v1/things/7?token=very-secret-1'), {
      method: 'POST',
      headers: { authorization: 'Bearer very-secret-2', traceparent: `00-${trace}-00f067aa0ba902b7-01` },
      body: 'very-secret-3',
    });

    const [line] = await server.requests(1);
    expect(line).toMatchObject({
      door: 'test',
      method: 'POST',
      route: '/v1/things/:id',
      path: '/v1/things/7',
      status: 200,
      bytes: 2,
      client: '127.0.0.1',
      traceId: trace,
    });
    expect(server.text()).not.toContain('very-secret');
  });
});
