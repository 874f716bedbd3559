// What strangers cannot do: send too much, too slowly, too many at once, or in somebody else's name.
import { describe, expect, test } from 'vitest';
import { gate, listening, row } from '../support/listening.ts';

const ok = () => ({ status: 200, body: 'ok' });
const post = row('POST', '/p', ({ body }) => ({ status: 200, body: `took ${body.length}` }));
const HEAD = 'POST /p HTTP/1.1\r\nHost: a\r\n';

describe('bodies', () => {
  test('up to the cap are taken, one byte more is refused', async () => {
    await using server = await listening({ bodyCapBytes: 10, routes: [post] });
    const send = (length: number) => fetch(server.url('/p'), { method: 'POST', body: 'x'.repeat(length) });

    const [exact, over] = await Promise.all([send(10), send(11)]);

    expect(await exact.text()).toBe('took 10');
    expect(over.status).toBe(413);
    expect(await over.json()).toMatchObject({ code: 'body_too_large', detail: expect.stringContaining('10 bytes') });
  });

  test('that announce too much are refused before a byte of them came', async () => {
    await using server = await listening({ bodyCapBytes: 10, routes: [post] });
    using client = await server.raw();

    client.send(`${HEAD}Content-Length: 9999999999\r\n\r\n`);

    expect(await client.until(/body_too_large/)).toContain('HTTP/1.1 413');
  });

  test('that grow too large in chunks are refused at the first byte too many', async () => {
    await using server = await listening({ bodyCapBytes: 10, routes: [post] });
    using client = await server.raw();

    client.send(`${HEAD}Transfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n8\r\n12345678\r\n`);

    expect(await client.until(/body_too_large/)).toContain('HTTP/1.1 413');
  });

  test('that were refused leave the connection usable once their rest came', async () => {
    await using server = await listening({ bodyCapBytes: 10, routes: [post] });
    using client = await server.raw();

    client.send(`${HEAD}Content-Length: 1000\r\n\r\n`);
    await client.until(/body_too_large/);
    client.send(`${'x'.repeat(1000)}${HEAD}Content-Length: 3\r\n\r\nabc`);

    expect(await client.until(/took/)).toContain('took 3');
  });

  test('whose refusal the client does not heed end with the connection', async () => {
    await using server = await listening({ bodyCapBytes: 10, routes: [post] });
    using client = await server.raw();

    client.send(`${HEAD}Content-Length: 99999999\r\n\r\n`);
    await client.until(/body_too_large/);
    client.send(Buffer.alloc(4 * 1024 * 1024));

    expect(await client.untilClosed()).not.toContain('took');
  });

  test('that a path does not take are ignored', async () => {
    await using server = await listening({
      routes: [row('DELETE', '/d', ({ body }) => ({ status: 200, body: `took ${body.length}` }), { bodyCapBytes: 0 })],
    });
    using client = await server.raw();

    client.send('DELETE /d HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
    client.send('DELETE /d HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');

    expect(await client.until(/took 0[\s\S]*took 0/)).not.toContain('400');
  });

  test('are asked for by 100 Continue only when the request is admitted', async () => {
    await using server = await listening({ bodyCapBytes: 10, routes: [post] });
    using welcome = await server.raw();
    using refused = await server.raw();

    welcome.send(`${HEAD}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n`);
    refused.send(`${HEAD}Expect: 100-continue\r\nContent-Length: 30\r\n\r\n`);
    await welcome.until(/100 Continue/);
    welcome.send('abc');

    expect(await welcome.until(/took/)).toContain('took 3');
    expect(await refused.untilClosed()).toMatch(/^HTTP\/1.1 413/);
  });

  test.each([
    ['ends before the announced length', `${HEAD}Content-Length: 10\r\n\r\nabc`, 'incomplete_body'],
    ['has a broken chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`, 'malformed_request'],
    ['has two lengths', `${HEAD}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc`, 'malformed_request'],
    [
      'has a length and chunks',
      `${HEAD}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'malformed_request',
    ],
    ['has no number as length', `${HEAD}Content-Length: 3x\r\n\r\nabc`, 'malformed_request'],
  ])('a body that %s is 400 in the words of the door', async (_what, bytes, code) => {
    await using server = await listening({ routes: [post] });
    using client = await server.raw();

    client.send(bytes);
    client.socket.end();

    const answer = await client.untilClosed();
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request/);
    expect(answer).toContain(`"code":"${code}"`);
    expect(answer).not.toContain('took');
  });
});

describe('connections', () => {
  const limits = { headersMs: 60, requestMs: 120 };

  test.each([
    ['nothing at all', ''],
    ['headers that never end', 'GET /p HTTP/1.1\r\nHost: a\r\nX-Slow: '],
    ['a body that never ends', `${HEAD}Content-Length: 10\r\n\r\nabc`],
  ])('with %s end in time', async (_what, bytes) => {
    await using server = await listening({ limits, routes: [post] });
    using client = await server.raw();

    client.send(bytes);

    expect(await client.untilClosed()).toContain('"code":"request_timeout"');
  });

  test('keep alive between requests, and answer pipelined ones in order', async () => {
    await using server = await listening({
      routes: [
        row('GET', '/slow', async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return { status: 200, body: 'first' };
        }),
        row('GET', '/fast', () => ({ status: 200, body: 'second' })),
      ],
    });
    using client = await server.raw();

    client.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /fast HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until(/first[\s\S]*second/);
    client.send('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until(/not_found/);
    client.send('GET /fast HTTP/1.1\r\nHost: a\r\n\r\n');

    expect((await client.until(/not_found[\s\S]*second/)).match(/HTTP\/1.1 \d+/g)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 200',
      'HTTP/1.1 404',
      'HTTP/1.1 200',
    ]);
  });

  test('that are idle for too long are closed', async () => {
    await using server = await listening({ limits: { keepAliveMs: 20 }, routes: [row('GET', '/a', ok)] });
    using client = await server.raw();

    client.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');

    expect(await client.untilClosed()).toContain('HTTP/1.1 200');
  });

  test('with large headers get 431, with bytes that are not HTTP 400', async () => {
    await using server = await listening({ limits: { headerBytes: 1024 }, routes: [post] });
    using large = await server.raw();
    using wild = await server.raw();

    large.send(`GET /p HTTP/1.1\r\nHost: a\r\nX-Large: ${'x'.repeat(2000)}\r\n\r\n`);
    wild.send('\x16\x03\x01 hello\r\n\r\n');

    expect(await large.untilClosed()).toMatch(/^HTTP\/1.1 431 [\s\S]*"code":"headers_too_large"/);
    expect(await wild.untilClosed()).toMatch(/^HTTP\/1.1 400 [\s\S]*"code":"malformed_request"/);
  });

  test('whose answer nobody reads are closed', async () => {
    const large = row('GET', '/large', () => ({ status: 200, body: Buffer.alloc(32 * 1024 * 1024) }));
    await using server = await listening({ limits: { stalledMs: 50 }, routes: [large] });
    using client = await server.raw();
    client.socket.pause();

    client.send('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');

    expect(await server.requests(1)).toHaveLength(1);
  });

  test('garbage behind a request whose answer has not begun does not corrupt it', async () => {
    const { promise, resolve } = gate();
    await using server = await listening({
      routes: [
        row('GET', '/a', async () => {
          await promise;
          return { status: 200, body: 'late' };
        }),
      ],
    });
    using client = await server.raw();

    client.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n\x00garbage\r\n\r\n');
    const answer = await client.untilClosed();
    resolve();

    expect(answer).toBe('');
  });

  test('beyond the limit are dropped and counted', async () => {
    await using server = await listening({ limits: { connections: 1 }, routes: [row('GET', '/a', ok)] });
    using first = await server.raw();
    first.send('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    await first.until(/ok$/);

    using second = await server.raw();

    expect(await second.untilClosed()).toBe('');
    expect(await server.metrics.text()).toContain('acmery_http_connections_dropped_total{door="test"} 1');
  });
});

describe('work', () => {
  test('beyond the limit is refused at once with Retry-After, and there is room again when some is done', async () => {
    const { promise, resolve } = gate();
    const begun = [gate(), gate()];
    let count = 0;
    await using server = await listening({
      maxInWork: 2,
      routes: [
        row('GET', '/wait', async () => {
          begun[count]?.resolve();
          count += 1;
          await promise;
          return ok();
        }),
      ],
    });

    const first = [fetch(server.url('/wait')), fetch(server.url('/wait'))];
    await Promise.all(begun.map((each) => each.promise));
    const refused = await fetch(server.url('/wait'));
    const duringWork = await server.metrics.text();
    resolve();
    const done = await Promise.all(first);
    const again = await fetch(server.url('/wait'));

    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-5]$/);
    expect(await refused.json()).toMatchObject({ code: 'overloaded' });
    expect(duringWork).toContain('acmery_http_requests_in_work{door="test"} 2');
    expect(await server.metrics.text()).toContain('acmery_http_requests_overloaded_total{door="test"} 1');
    expect([...done, again].map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('does not count requests whose body is still on its way', async () => {
    const admitted = gate();
    await using server = await listening({
      maxInWork: 1,
      routes: [
        row('GET', '/a', ok),
        {
          method: 'POST',
          path: '/p',
          admit: () => {
            setImmediate(admitted.resolve);
            return ({ body }) => ({ status: 200, body: `took ${body.length}` });
          },
        },
      ],
    });
    using slow = await server.raw();

    slow.send(`${HEAD}Content-Length: 3\r\n\r\na`);
    await admitted.promise;
    const other = await fetch(server.url('/a'));
    slow.send('bc');

    expect(other.status).toBe(200);
    expect(await slow.until(/took 3/)).toContain('HTTP/1.1 200');
  });
});

describe('the client behind a proxy', () => {
  const routes = [row('GET', '/who', ({ clientAddress }) => ({ status: 200, body: clientAddress }))];
  const spoofed = { 'x-forwarded-for': '198.51.100.1, 203.0.113.5' };

  test('SEC-37: is who the trusted proxy says, and the peer where no proxy is trusted', async () => {
    await using behind = await listening({ trusted: ['127.0.0.0/8'], routes });
    await using direct = await listening({ routes });

    const answers = await Promise.all(
      [behind, direct].map(async (server) => (await fetch(server.url('/who'), { headers: spoofed })).text()),
    );

    expect(answers).toEqual(['203.0.113.5', '127.0.0.1']);
    expect(await behind.requests(1)).toMatchObject([{ client: '203.0.113.5' }]);
  });

  test.each([
    ['of the client before them', ['X-Forwarded-For: 198.51.100.1']],
    ['none before them', []],
  ])('is not to be had by so many headers that those of the proxy fall off: %s', async (_what, first) => {
    await using server = await listening({ trusted: ['127.0.0.0/8'], routes });
    using client = await server.raw();
    const many = Array.from({ length: 99 - first.length }, (_, index) => `X-${index}: x`);

    client.send(
      ['GET /who HTTP/1.1', 'Host: a', ...first, ...many, 'X-Forwarded-For: 203.0.113.5', '', ''].join('\r\n'),
    );

    expect(await client.until(/\r\n\r\n[\s\S]/)).toMatch(/^HTTP\/1.1 431 /);
  });

  test('is nobody when two headers disagree: 400 names both', async () => {
    await using server = await listening({ trusted: ['127.0.0.0/8'], routes });

    const reply = await fetch(server.url('/who'), { headers: { ...spoofed, forwarded: 'for=127.0.0.1' } });

    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ code: 'ambiguous_client' });
  });
});
