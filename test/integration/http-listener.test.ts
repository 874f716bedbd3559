// Opening a port, and leaving it without cutting anybody off.
import { describe, expect, test } from 'vitest';
import { trustedProxies } from '../../src/http/client-address.ts';
import { mount } from '../../src/http/mount.ts';
import { openListener } from '../../src/http/server.ts';
import { TlsSlot } from '../../src/http/tls-source.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { capturedLog } from '../support/captured-log.ts';
import { aDoor, gate, listening, rawClient, row } from '../support/listening.ts';
import { selfSigned } from '../support/self-signed.ts';

const ok = () => ({ status: 200, body: 'ok' });

describe('opening', () => {
  const open = (host: string, port: number) => {
    const { log } = capturedLog();
    const events = createEvents(log, createMetrics());
    const door = mount(aDoor(), { events, trusted: trustedProxies([]) });
    return openListener({ setting: 'ACMERY_API_LISTEN', address: { host, port }, door, events });
  };

  test('tells where it listens', async () => {
    await using server = await listening({ routes: [row('GET', '/a', ok)] });

    expect(server.listener.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
    expect(server.records()).toMatchObject([{ message: 'listening', door: 'test', url: server.listener.url }]);
  });

  test('a port that is taken is one sentence that names the setting', async () => {
    await using server = await listening();
    const { port } = server.listener.address;

    await expect(open('127.0.0.1', port)).rejects.toMatchObject({
      name: 'ListenError',
      setting: 'ACMERY_API_LISTEN',
      message: `ACMERY_API_LISTEN: 127.0.0.1:${port} is in use by another program (or a second Acmery); stop that one or choose another port.`,
    });
  });

  test('an address that is not ours is one too', async () => {
    await expect(open('192.0.2.1', 0)).rejects.toThrow(
      'ACMERY_API_LISTEN: 192.0.2.1 is not an address of this machine',
    );
  });

  test('the unspecified address takes connections in both protocols', async () => {
    await using listener = await open('::', 0);

    using client = await rawClient(listener.address.port);
    client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');

    expect(await client.until(/not_found/)).toContain('404');
  });
});

describe('draining', () => {
  const waiting = () => {
    const begun = gate();
    const release = gate();
    const route = row('GET', '/wait', async () => {
      begun.resolve();
      await release.promise;
      return ok();
    });
    return { begun: begun.promise, release: release.resolve, routes: [route, row('GET', '/a', ok)] };
  };
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

  test('finishes what is under way, closes idle connections at once and takes no new ones', async () => {
    const { begun, release, routes } = waiting();
    await using server = await listening({ routes });
    const { port } = server.listener.address;
    using idle = await server.raw();
    idle.send(request('/a'));
    await idle.until(/ok$/);
    using busy = await server.raw();
    busy.send(request('/wait'));
    await begun;

    const drained = server.listener.drain(60_000);
    await idle.untilClosed();
    const refused = await rawClient(port).catch((error: unknown) => error);
    release();

    expect(refused).toMatchObject({ code: 'ECONNREFUSED' });
    expect(await drained).toEqual({ cutConnections: 0 });
    expect(await busy.untilClosed()).toMatch(/^HTTP\/1.1 200 OK\r\nConnection: close\r\n[\s\S]*ok$/);
  });

  test('sends the whole of an answer that had begun before, then closes its connection', async () => {
    await using server = await listening({
      routes: [row('GET', '/big', () => ({ status: 200, body: Buffer.alloc(16 * 1024 * 1024) }))],
    });
    using client = await server.raw();
    client.send(request('/big'));
    await client.until(/200 OK/);
    client.socket.pause();

    const drained = server.listener.drain(60_000);
    client.socket.resume();

    expect(await drained).toEqual({ cutConnections: 0 });
    expect((await client.untilClosed()).length).toBeGreaterThan(16 * 1024 * 1024);
  });

  test('cuts what is left at the deadline', async () => {
    const { begun, routes, release } = waiting();
    await using server = await listening({ routes });
    using busy = await server.raw();
    busy.send(request('/wait'));
    await begun;

    expect(await server.listener.drain(10)).toEqual({ cutConnections: 1 });
    expect(await busy.untilClosed()).toBe('');
    release();
  });

  test('ends HTTPS connections too: idle, silent and busy', async () => {
    const pair = selfSigned();
    const { begun, release, routes } = waiting();
    await using server = await listening({ tls: new TlsSlot(pair), routes });
    using silent = await server.raw();
    const { get, Agent } = await import('node:https');
    const agent = new Agent({ keepAlive: true, ca: pair.certificate });
    const body = new Promise<string>((resolve, reject) => {
      get(server.url('/wait'), { agent }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve(`${response.headers.connection} ${text}`));
      }).on('error', reject);
    });
    await begun;

    const drained = server.listener.drain(60_000);
    await silent.untilClosed();
    release();

    expect(await body).toBe('close ok');
    expect(await drained).toEqual({ cutConnections: 0 });
    agent.destroy();
  });

  test('asked for twice is one', async () => {
    await using server = await listening();

    const drained = server.listener.drain(1_000);

    expect(server.listener.drain(5)).toBe(drained);
    await drained;
  });
});
