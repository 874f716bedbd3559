// The API listener with the pages of /ui on a real HTTPS socket, and what a browser does there without a browser.
import { request as sendRequest } from 'node:https';
import { authenticator, type Credentials } from '../../src/api/authenticate.ts';
import { apiDoor } from '../../src/api/door.ts';
import { apiRoutes } from '../../src/api/routes.ts';
import { createApiToken } from '../../src/core/api-tokens.ts';
import { type Permission, permissions } from '../../src/core/caller.ts';
import { trustedProxies } from '../../src/http/client-address.ts';
import { mount } from '../../src/http/mount.ts';
import { openListener } from '../../src/http/server.ts';
import { TlsSlot } from '../../src/http/tls-source.ts';
import { withUi } from '../../src/ui/door.ts';
import { type TestCa, testCa } from './ca.ts';
import { selfSigned } from './self-signed.ts';

export type UiAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
};

type Sent = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a form. */
  readonly form?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A cookie as it is sent. */
  readonly cookie?: string;
};

export type TestUi = Omit<TestCa, keyof AsyncDisposable> &
  AsyncDisposable & {
    /** `https://localhost:port`. */
    readonly url: string;
    readonly tokens: Readonly<Record<Permission, string>>;
    ask(path: string, sent?: Sent): Promise<UiAnswer>;
    /** Signs in as a browser does; the cookie, as it is sent back. */
    signIn(token: string, form?: Readonly<Record<string, string>>): Promise<string>;
    /** A page, with the session of a token for this permission. */
    page(path: string, as?: Permission): Promise<UiAnswer>;
  };

/** What a browser says of a form on our own page. */
export const OWN_FORM = { 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/x-www-form-urlencoded' };

export async function testUi(credentials: Credentials = {}): Promise<TestUi> {
  await using opened = new AsyncDisposableStack();
  const { ca, databaseUrl, logLines, metrics } = opened.use(await testCa());
  const door = withUi(apiDoor({ ca, routes: apiRoutes('0.0.0-test'), ...credentials }), {
    ca,
    authenticate: authenticator(ca, credentials),
    version: '0.0.0-test',
  });
  const listener = await openListener({
    setting: 'ACMERY_API_LISTEN',
    address: { host: '127.0.0.1', port: 0 },
    door: mount(door, { events: ca.events, trusted: trustedProxies([]) }),
    events: ca.events,
    tls: new TlsSlot(selfSigned()),
  });
  opened.use(listener);
  const url = listener.url.replace('127.0.0.1', 'localhost');
  const made = await Promise.all(
    permissions.map((permission) =>
      createApiToken(ca, { kind: 'command', name: 'test' }, { name: permission, permission }),
    ),
  );
  const [read = '', write = '', admin = ''] = made.map(({ token }) => token);
  const tokens = { read, write, admin };

  const ask = (path: string, { method, headers = {}, form, cookie, body: bytes }: Sent = {}): Promise<UiAnswer> => {
    const { promise, resolve, reject } = Promise.withResolvers<UiAnswer>();
    const body = form === undefined ? bytes : new URLSearchParams(form).toString();
    const outgoing = sendRequest(
      `${url}${path}`,
      {
        method: method ?? (form === undefined ? 'GET' : 'POST'),
        headers: { ...(form !== undefined && OWN_FORM), ...(cookie !== undefined && { Cookie: cookie }), ...headers },
        rejectUnauthorized: false,
        agent: false,
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part) => parts.push(part));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(parts).toString(),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
    return promise;
  };
  const signIn = async (token: string, form: Readonly<Record<string, string>> = {}): Promise<string> => {
    const answer = await ask('/ui/sign-in', { form: { token, next: '/ui', ...form } });
    const cookie = cookieIn(answer);
    if (answer.status !== 303 || cookie === '') throw new Error(`not signed in: ${answer.status} ${answer.text}`);
    return cookie;
  };
  const cookies = new Map<Permission, Promise<string>>();
  const running = opened.move();
  return {
    ca,
    databaseUrl,
    logLines,
    metrics,
    url,
    tokens,
    ask,
    signIn,
    async page(path, as = 'admin') {
      const cookie = cookies.get(as) ?? signIn(tokens[as]);
      cookies.set(as, cookie);
      return ask(path, { cookie: await cookie });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** What a browser would send back; '' where no cookie was set. */
export function cookieIn({ headers }: UiAnswer): string {
  const [line = ''] = [headers['set-cookie']].flat();
  return line.split(';')[0] ?? '';
}
