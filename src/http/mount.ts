// A door's route list on Express: plain request in, plain reply out, and every refusal in the door's own words.
import type { IncomingMessage, RequestListener } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Events } from '../telemetry/events.ts';
import { logWhenEnded } from './access-log.ts';
import { readBody } from './body.ts';
import type { TrustedProxies } from './client-address.ts';
import { ClientGone, type Exchange, openExchange } from './exchange.ts';
import { type Refusal, RefusedRequest, refusal } from './refusals.ts';
import { preflightHeaders, sendReply } from './reply.ts';
import type { RequestLimiter } from './request-limiter.ts';
import type { Door, HttpReply, HttpRoute } from './route.ts';
import { type WorkGate, withDeadline, workGate } from './work.ts';

export type MountOptions = {
  readonly events: Events;
  readonly trusted: TrustedProxies;
  /** Requests worked on at once; 256 when absent. One whose body is still on its way does not count. */
  readonly maxInWork?: number;
  /** Without it every client may send as much as it can. */
  readonly limitRequests?: RequestLimiter | undefined;
};

export type MountedDoor = Pick<Door, 'name' | 'refuse'> & { readonly listener: RequestListener };

type Mounting = { readonly door: Door; readonly events: Events; readonly gate: WorkGate };

const MAX_IN_WORK = 256;

export function mount(
  door: Door,
  { events, trusted, maxInWork = MAX_IN_WORK, limitRequests }: MountOptions,
): MountedDoor {
  const counted = (count: number) => events.requestsInWork({ door: door.name, count });
  const mounting = { door, events, gate: workGate(maxInWork, counted) };
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  const app = expressApp();
  for (const [path, rows] of rowsByPath(door.routes)) {
    app.route(path).all((request, _response, next) => {
      const exchange = exchanges.get(request);
      if (exchange === undefined) return next();
      exchange.route = path;
      for (const method of allowedBy(rows)) exchange.allow.add(method);
      const row = rows.get(request.method) ?? (request.method === 'HEAD' ? rows.get('GET') : undefined);
      if (row === undefined) return next();
      return respond(mounting, exchange, () => runRoute(mounting, exchange, row, textParams(request.params)));
    });
  }
  app.use((request) => {
    const exchange = exchanges.get(request);
    return exchange && respond(mounting, exchange, () => answerWithoutRoute(door, exchange));
  });
  // Four parameters make it Express's error handler: its own would answer with a page of HTML.
  app.use((error: unknown, request: Request, _response: Response, _next: NextFunction) => {
    const exchange = exchanges.get(request);
    return exchange && respond(mounting, exchange, () => Promise.reject(error));
  });
  return {
    name: door.name,
    refuse: door.refuse,
    listener: (request, response) => {
      const exchange = openExchange(request, response, trusted);
      exchanges.set(request, exchange);
      logWhenEnded(exchange, door, events);
      const serve = (refused: RefusedRequest | undefined) => {
        if (refused !== undefined) return void respond(mounting, exchange, () => Promise.reject(refused));
        request.url = exchange.head.url;
        app(request, response);
      };
      const { refused, head } = exchange;
      if (refused !== undefined || limitRequests === undefined) return serve(refused);
      void limitRequests(head.clientAddress).then(serve);
    },
  };
}

/** Never rejects: whatever happens becomes a reply. */
async function respond(mounting: Mounting, exchange: Exchange, work: () => Promise<HttpReply>): Promise<void> {
  const { door, events } = mounting;
  const { head, response } = exchange;
  const fail = (error: unknown): HttpReply => {
    events.internalError({ where: door.name, error, requestId: head.requestId });
    return door.refuse(refusal('internal'), head.requestId);
  };
  const reply = await work()
    .catch((error: unknown) => replyToError(mounting, exchange, error))
    .catch(fail);
  const finished = await finish(door, exchange, reply).catch((error: unknown) => {
    fail(error);
    return reply;
  });
  if (response.destroyed) return;
  try {
    exchange.bytes = sendReply(exchange, finished, door.crossOrigin);
  } catch (error) {
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    exchange.bytes = sendReply(exchange, fail(error), door.crossOrigin);
  }
}

const finish = async (door: Door, { head }: Exchange, reply: HttpReply) => door.finish?.(reply, head) ?? reply;

async function runRoute(
  { door, gate }: Mounting,
  exchange: Exchange,
  row: HttpRoute,
  params: Readonly<Record<string, string>>,
): Promise<HttpReply> {
  const { request, response, abort } = exchange;
  const head = { ...exchange.head, params };
  const deadlineMs = row.deadlineMs ?? door.deadlineMs;
  const answer = await withDeadline(
    gate(() => row.admit(head)),
    deadlineMs,
    abort,
  );
  const body = await readBody(request, response, row.bodyCapBytes ?? (isReading(row.method) ? 0 : door.bodyCapBytes));
  return withDeadline(
    gate(() => answer({ ...head, body })),
    deadlineMs,
    abort,
  );
}

async function answerWithoutRoute(door: Door, { head, allow }: Exchange): Promise<HttpReply> {
  if (allow.size === 0) throw new RefusedRequest(nothingThere(door));
  if (head.method !== 'OPTIONS') throw new RefusedRequest(refusal('method_not_allowed', { allow: [...allow] }));
  const headers = { Allow: [...allow].join(', ') };
  return {
    status: 204,
    headers:
      door.crossOrigin === undefined ? headers : { ...headers, ...preflightHeaders(door.crossOrigin, [...allow]) },
  };
}

function nothingThere({ signpost }: Door): Refusal {
  const refused = refusal('not_found');
  return signpost === undefined ? refused : { ...refused, detail: `${refused.detail} ${signpost}` };
}

function replyToError({ door, events }: Mounting, { head }: Exchange, error: unknown): HttpReply {
  const refused = error instanceof RefusedRequest ? error : abortedBy(error, head.signal);
  if (refused instanceof ClientGone) return door.refuse(refusal('incomplete_body'), head.requestId);
  if (refused instanceof RefusedRequest) {
    if (refused.refusal.kind === 'overloaded') events.requestRefusedForOverload({ door: door.name });
    return door.refuse(refused.refusal, head.requestId);
  }
  const reply = door.replyTo(error, head);
  if (reply === undefined) throw error;
  return reply;
}

// What a route throws because its signal aborted: the reason itself, or an AbortError of some client library.
function abortedBy(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted || !(error instanceof Error)) return undefined;
  const isAbort = error === signal.reason || error.cause === signal.reason || error.name === 'AbortError';
  return isAbort ? signal.reason : undefined;
}

function expressApp() {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  return app;
}

function rowsByPath(routes: readonly HttpRoute[]): Map<string, Map<string, HttpRoute>> {
  const paths = new Map<string, Map<string, HttpRoute>>();
  for (const route of routes) {
    const rows = paths.get(route.path) ?? new Map<string, HttpRoute>();
    if (rows.has(route.method)) throw new Error(`Two rows of the route table say ${route.method} ${route.path}.`);
    paths.set(route.path, rows.set(route.method, route));
  }
  return paths;
}

const allowedBy = (rows: ReadonlyMap<string, HttpRoute>) => [
  ...rows.keys(),
  ...(rows.has('GET') ? ['HEAD'] : []),
  'OPTIONS',
];

// A `*wildcard` comes as its segments.
const textParams = (params: Readonly<Record<string, string | string[]>>) =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, [value].flat().join('/')]));

const isReading = (method: HttpRoute['method']) => method === 'GET' || method === 'HEAD';
