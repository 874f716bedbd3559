// A door on a real socket, and a client that sends the very bytes a test names.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { trustedProxies } from '../../src/http/client-address.ts';
import type { ListenLimits } from '../../src/http/limits.ts';
import { mount } from '../../src/http/mount.ts';
import { refusalProblem } from '../../src/http/problem.ts';
import type { RequestLimiter } from '../../src/http/request-limiter.ts';
import type { Answer, Door, HttpRoute } from '../../src/http/route.ts';
import { openListener } from '../../src/http/server.ts';
import type { TlsSource } from '../../src/http/tls-source.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { capturedLog } from './captured-log.ts';

export const row = (method: HttpRoute['method'], path: string, answer: Answer, more: Partial<HttpRoute> = {}) => ({
  method,
  path,
  admit: () => answer,
  ...more,
});

export const aDoor = (door: Partial<Door> = {}): Door => ({
  name: 'test',
  routes: [],
  bodyCapBytes: 64 * 1024,
  deadlineMs: 5_000,
  accessLevel: 'info',
  refuse: refusalProblem,
  replyTo: () => undefined,
  ...door,
});

type Given = Partial<Door> & {
  readonly limits?: Partial<ListenLimits>;
  readonly tls?: TlsSource;
  readonly trusted?: readonly string[];
  readonly maxInWork?: number;
  readonly limitRequests?: RequestLimiter | undefined;
};

export async function listening({ limits = {}, tls, trusted = [], maxInWork, limitRequests, ...door }: Given = {}) {
  const captured = capturedLog();
  const metrics = createMetrics();
  const events = createEvents(captured.log, metrics);
  const listener = await openListener({
    setting: 'ACMERY_TEST_LISTEN',
    address: { host: '127.0.0.1', port: 0 },
    door: mount(aDoor(door), {
      events,
      trusted: trustedProxies(trusted),
      limitRequests,
      ...(maxInWork === undefined ? {} : { maxInWork }),
    }),
    events,
    limits,
    ...(tls === undefined ? {} : { tls }),
  });
  return {
    listener,
    ...captured,
    metrics,
    url: (path: string) => `${listener.url}${path}`,
    /** Lines of the access log, once there are so many. */
    async requests(count: number): Promise<Record<string, unknown>[]> {
      for (;;) {
        const found = captured.records().filter(({ message }) => String(message).startsWith('request'));
        if (found.length >= count) return found;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    raw: () => rawClient(listener.address.port),
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

/** Sends bytes as they are and collects what comes back. */
export async function rawClient(port: number) {
  const socket: Socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  let received = '';
  const waiting = new Set<() => void>();
  const news = () => {
    for (const wake of waiting) wake();
  };
  let isClosed = false;
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    news();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    news();
  });
  const until = async (isMet: () => boolean) => {
    while (!isMet()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      await promise;
      waiting.delete(resolve);
    }
    return received;
  };
  return {
    socket,
    send: (text: string | Buffer) => socket.write(text),
    /** What came, once the pattern is in it or the server closed the connection. */
    until: (pattern: RegExp) => until(() => pattern.test(received) || isClosed),
    untilClosed: () => until(() => isClosed),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** A promise that the test settles itself. */
export const gate = () => Promise.withResolvers<void>();
