// A /v1 door on a real socket, and a client that holds every reply against the row that gave it.

import type { Credentials } from '../../src/api/authenticate.ts';
import { apiDoor } from '../../src/api/door.ts';
import { problemCodes, problemSchema } from '../../src/api/problem-schema.ts';
import { failuresOf } from '../../src/api/refused.ts';
import type { ApiRoute } from '../../src/api/route.ts';
import { apiRoutes } from '../../src/api/routes.ts';
import { createApiToken } from '../../src/core/api-tokens.ts';
import { type Permission, permissions } from '../../src/core/caller.ts';
import { trustedProxies } from '../../src/http/client-address.ts';
import { mount } from '../../src/http/mount.ts';
import { openListener } from '../../src/http/server.ts';
import { check } from '../../src/schema/validator.ts';
import { type TestCa, type TestCaOptions, testCa } from './ca.ts';

export type Who = Permission | 'bootstrap' | 'nobody' | { readonly token: string };

type Sent = {
  /** `admin` when absent. */
  readonly as?: Who;
  readonly headers?: Readonly<Record<string, string>>;
};

export type ApiAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** As untyped as JSON.parse has it: the row's schema has been checked, so tests read members without ceremony. */
  readonly body: ReturnType<typeof JSON.parse>;
};

type TestApi = Omit<TestCa, keyof AsyncDisposable> &
  AsyncDisposable & {
    readonly url: string;
    readonly routes: readonly ApiRoute[];
    get(path: string, sent?: Sent): Promise<ApiAnswer>;
    post(path: string, json: unknown, sent?: Sent): Promise<ApiAnswer>;
    put(path: string, json: unknown, sent?: Sent): Promise<ApiAnswer>;
    delete(path: string, json?: unknown, sent?: Sent): Promise<ApiAnswer>;
    /** Bytes as they are, with the headers given and no others but the credential. */
    send(method: string, path: string, bytes: string | Buffer | undefined, sent?: Sent): Promise<ApiAnswer>;
  };

const BOOTSTRAP_TOKEN = 'a bootstrap token as long as needed'.replaceAll(' ', '-');

const JSON_TYPE = { 'Content-Type': 'application/json' };

type Options = Pick<Credentials, 'callerReview'> &
  TestCaOptions & {
    readonly routes?: readonly ApiRoute[];
    /** With another's CA it is one more door of it. */
    readonly of?: TestCa;
  };

/** `await using api = await testApi()`. The routes are all those of /v1 when none are given. */
export async function testApi({ of, ...options }: Options = {}): Promise<TestApi> {
  await using opened = new AsyncDisposableStack();
  const { ca, databaseUrl, logLines, metrics } = of ?? opened.use(await testCa(options));
  const { routes = apiRoutes('0.0.0-test'), caa: _, ...credentials } = options;
  const door = apiDoor({ ca, routes, bootstrapToken: BOOTSTRAP_TOKEN, ...credentials });
  const listener = await openListener({
    setting: 'ACMERY_API_LISTEN',
    address: { host: '127.0.0.1', port: 0 },
    door: mount(door, { events: ca.events, trusted: trustedProxies([]) }),
    events: ca.events,
  });
  opened.use(listener);
  const tokens = new Map<string, string>([['bootstrap', BOOTSTRAP_TOKEN]]);
  for (const permission of permissions) {
    const { token } = await createApiToken(ca, { kind: 'command', name: 'test' }, { name: permission, permission });
    tokens.set(permission, token);
  }

  const send = async (method: string, path: string, bytes: string | Buffer | undefined, sent: Sent = {}) => {
    const { as = 'admin', headers = {} } = sent;
    const token = typeof as === 'object' ? as.token : tokens.get(as);
    const response = await fetch(`${listener.url}${path}`, {
      method,
      headers: { ...(token !== undefined && { Authorization: `Bearer ${token}` }), ...headers },
      ...(bytes !== undefined && { body: typeof bytes === 'string' ? Buffer.from(bytes) : bytes }),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
    const faults = faultsOf(answer, method, path, routes);
    if (faults.length > 0) throw new Error(`${method} ${path} answered ${answer.status} ${text}\n${faults.join('\n')}`);
    return answer;
  };
  const sendJson = (method: string, path: string, json: unknown, sent: Sent = {}) =>
    send(method, path, JSON.stringify(json), { ...sent, headers: { ...JSON_TYPE, ...sent.headers } });

  const running = opened.move();
  return {
    ca,
    databaseUrl,
    logLines,
    metrics,
    url: listener.url,
    routes,
    send,
    get: (path, sent) => send('GET', path, undefined, sent),
    post: (path, json, sent) => sendJson('POST', path, json, sent),
    put: (path, json, sent) => sendJson('PUT', path, json, sent),
    delete: (path, json, sent) =>
      json === undefined ? send('DELETE', path, undefined, sent) : sendJson('DELETE', path, json, sent),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Everything in which a reply differs from what its row, or the rules for all replies, say. */
function faultsOf(answer: ApiAnswer, method: string, url: string, routes: readonly ApiRoute[]): readonly string[] {
  const { status, headers } = answer;
  const path = url.split('?')[0] ?? '';
  const onPath = routes.filter((row) => patternOf(row).test(path));
  const row = onPath.find((candidate) => candidate.method === (method === 'HEAD' ? 'GET' : method));
  const reply = row?.replies[status];
  const faults = [
    headers.get('x-request-id') === null && 'has no X-Request-Id',
    headers.get('cache-control') !== 'no-store' && 'may be cached',
    headers.get('x-content-type-options') !== 'nosniff' && 'has no X-Content-Type-Options',
  ].filter((fault) => fault !== false);
  if (status >= 400) return [...faults, ...problemFaults(answer, row, onPath.length > 0)];
  if (row === undefined || reply === undefined) return [...faults, 'has a status that its row does not name'];
  if (reply.schema !== undefined) return [...faults, ...jsonFaults(answer, reply.schema), ...linkFaults(answer)];
  if (reply.mediaTypes !== undefined) {
    const type = headers.get('content-type')?.split(';')[0] ?? '';
    return [...faults, ...(reply.mediaTypes.includes(type) ? [] : [`is ${type}, which its row does not name`])];
  }
  return [...faults, ...(answer.text === '' ? [] : ['has a body'])];
}

function problemFaults(answer: ApiAnswer, row: ApiRoute | undefined, isKnownPath: boolean): readonly string[] {
  const { status, headers, body } = answer;
  const named: readonly number[] = row === undefined ? [isKnownPath ? 405 : 404] : failuresOf(row);
  if (headers.get('content-type') !== 'application/problem+json') return ['is no problem document'];
  return [
    named.includes(status) ? undefined : `status ${status} is not one of ${named.join(', ')}`,
    ...check(problemSchema, body).map(({ field, message }) => `${field}: ${message}`),
    body.status === status ? undefined : 'says another status',
    body.request_id === headers.get('x-request-id') ? undefined : 'says another request id',
    problemCodes.includes(body.code) ? undefined : 'has a code that the document does not name',
    status === 401 && headers.get('www-authenticate') === null ? 'has no WWW-Authenticate' : undefined,
    status === 405 && headers.get('allow') === null ? 'has no Allow' : undefined,
    status === 503 && headers.get('retry-after') === null ? 'has no Retry-After' : undefined,
    status === 500 ? 'is a bug' : undefined,
  ].filter((fault) => fault !== undefined);
}

function jsonFaults({ headers, body }: ApiAnswer, schema: NonNullable<ApiRoute['replies'][number]['schema']>) {
  const type = headers.get('content-type');
  const faults = check(schema, structuredClone(body)).map(({ field, message }) => `${field}: ${message}`);
  return type === 'application/json' ? faults : [...faults, `is ${type}`];
}

function linkFaults({ headers, body }: ApiAnswer): readonly string[] {
  if (typeof body?.more_results !== 'boolean') return [];
  return body.more_results === headers.has('link') ? [] : ['has a Link header although there is no more, or none'];
}

const patternOf = ({ path }: ApiRoute): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`);
