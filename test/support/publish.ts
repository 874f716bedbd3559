// A publication door on a real socket, over a CA of its own.
import { trustedProxies } from '../../src/http/client-address.ts';
import { mount } from '../../src/http/mount.ts';
import { openListener } from '../../src/http/server.ts';
import { publishDoor } from '../../src/publish/door.ts';
import { publishRoutes } from '../../src/publish/routes.ts';
import { type TestCa, type TestCaOptions, testCa } from './ca.ts';

type Published = {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
};

type Options = TestCaOptions & {
  readonly of?: TestCa;
  /** Certificates that are made from now on name this very door as the place of what is published. */
  readonly isNamed?: boolean;
};

export type TestPublish = TestCa & {
  readonly url: string;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Published>;
  head(path: string, headers?: Readonly<Record<string, string>>): Promise<Published>;
  /** Bytes as they are. */
  post(path: string, mediaType: string, bytes: Buffer): Promise<Published>;
  /** Whatever the certificates of this CA name as a place of publication is asked for here. */
  at(url: string): string;
};

/** `await using publish = await testPublish()`. With another's CA it is one more door of it. */
export async function testPublish({ of, isNamed = false, ...options }: Options = {}): Promise<TestPublish> {
  await using opened = new AsyncDisposableStack();
  const base = of ?? opened.use(await testCa(options));
  const { ca } = base;
  const listener = opened.use(
    await openListener({
      setting: 'ACMERY_HTTP_LISTEN',
      address: { host: '127.0.0.1', port: 0 },
      door: mount(publishDoor({ ca, routes: publishRoutes }), { events: ca.events, trusted: trustedProxies([]) }),
      events: ca.events,
    }),
  );
  if (isNamed) Object.assign(ca.urls, { httpUrl: listener.url });
  const send = async (path: string, init: RequestInit): Promise<Published> => {
    const response = await fetch(`${listener.url}${path}`, init);
    const { status, headers } = response;
    return { status, headers, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const running = opened.move();
  return {
    ...base,
    url: listener.url,
    get: (path, headers = {}) => send(path, { headers: { ...headers } }),
    head: (path, headers = {}) => send(path, { method: 'HEAD', headers: { ...headers } }),
    post: (path, mediaType, bytes) =>
      send(path, { method: 'POST', headers: { 'Content-Type': mediaType }, body: new Uint8Array(bytes) }),
    at: (url) => url.replace(ca.urls.httpUrl, listener.url),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
