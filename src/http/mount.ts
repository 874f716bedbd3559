// A door's route list on a listener: plain request in, plain reply out, and every refusal in the door's own words. What a
// row takes goes straight to it; Express has the rest. To pass by Express, whatever it finds, costs a request as much as
// all else before its handler together: it gives each one another prototype, which slows down whoever touches it later.
import type { IncomingMessage, RequestListener } from 'node:http';
import express from 'express';
import type { Events } from '../telemetry/events.ts';
import { logEnded } from './access-log.ts';
import { readBody } from './body.ts';
import { peersOf, type TrustedProxies } from './client-address.ts';
import { ClientGone, type Exchange, openExchange, UNMATCHED } from './exchange.ts';
import { type Refusal, RefusedRequest, refusal } from './refusals.ts';
import { type CommonHeaders, commonHeaders, preflightHeaders, sendReply } from './reply.ts';
import type { RequestLimiter } from './request-limiter.ts';
import type { Answer, Door, HttpReply, HttpRoute } from './route.ts';
import { routeTable } from './route-table.ts';
import { type WorkGate, workGate } from './work.ts';

export type MountOptions = {
  readonly events: Events;
  readonly trusted: TrustedProxies;
  /** Requests worked on at once; 256 when absent. One whose body is still on its way does not count. */
  readonly maxInWork?: number;
  /** Without it every client may send as much as it can. */
  readonly limitRequests?: RequestLimiter | undefined;
};

export type MountedDoor = Pick<Door, 'name' | 'refuse'> & { readonly listener: RequestListener };

type Mounting = {
  readonly door: Door;
  readonly events: Events;
  readonly common: CommonHeaders;
};

type Work = () => HttpReply | Promise<HttpReply>;

const MAX_IN_WORK = 256;

export function mount(
  door: Door,
  { events, trusted, maxInWork = MAX_IN_WORK, limitRequests }: MountOptions,
): MountedDoor {
  const mounting = { door, events, common: commonHeaders(door.crossOrigin) };
  const gate = workGate(maxInWork, (count) => events.requestsInWork({ door: door.name, count }));
  const find = routeTable(door.routes);
  const peerOf = peersOf(trusted);
  const withoutRow = new WeakMap<IncomingMessage, Exchange>();
  const app = expressApp((incoming) => {
    const exchange = withoutRow.get(incoming);
    return exchange && respond(mounting, exchange, () => answerWithoutRow(door, exchange));
  });
  return {
    name: door.name,
    refuse: door.refuse,
    listener: (incoming, response) => {
      const exchange = openExchange(incoming, response, peerOf(incoming.socket), trusted);
      const { request } = exchange;
      response.on('close', () => {
        if (!response.writableFinished) request.abort(new ClientGone());
        logEnded(exchange, door, events);
      });
      const refused = exchange.refused ?? limitRequests?.(request.clientAddress);
      if (refused !== undefined) return void respond(mounting, exchange, () => refuse(refused));
      const found = find(request.method, request.path);
      exchange.route = found?.pattern ?? UNMATCHED;
      exchange.allow = found?.allow ?? [];
      const row = found?.row;
      if (found !== undefined && row !== undefined) {
        request.params = found.params;
        return void respond(mounting, exchange, () => runRow(door, gate, exchange, row));
      }
      withoutRow.set(incoming, exchange);
      incoming.url = request.url;
      app(incoming, response);
    },
  };
}

/** Never rejects: whatever happens becomes a reply. */
async function respond(mounting: Mounting, exchange: Exchange, work: Work): Promise<void> {
  const { door, events, common } = mounting;
  const { request, response } = exchange;
  const fail = (error: unknown): HttpReply => {
    events.internalError({ where: door.name, error, requestId: request.requestId });
    return door.refuse(refusal('internal'), request.requestId);
  };
  let reply: HttpReply;
  try {
    const worked = work();
    reply = worked instanceof Promise ? await worked : worked;
  } catch (error) {
    reply = replyToFailure(mounting, exchange, error, fail);
  }
  try {
    const finished = door.finish?.(reply, request) ?? reply;
    reply = finished instanceof Promise ? await finished : finished;
  } catch (error) {
    fail(error);
  }
  if (response.destroyed) return;
  try {
    exchange.bytes = sendReply(exchange, reply, common);
  } catch (error) {
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    exchange.bytes = sendReply(exchange, fail(error), common);
  }
}

function replyToFailure(
  mounting: Mounting,
  exchange: Exchange,
  error: unknown,
  fail: (error: unknown) => HttpReply,
): HttpReply {
  try {
    return replyToError(mounting, exchange, error) ?? fail(error);
  } catch (another) {
    return fail(another);
  }
}

/** Waits for nothing where there is nothing to wait for: a promise costs as much as many an answer. */
function runRow(door: Door, gate: WorkGate, exchange: Exchange, row: HttpRoute): HttpReply | Promise<HttpReply> {
  const { incoming, response, request } = exchange;
  const deadlineMs = row.deadlineMs ?? door.deadlineMs;
  const capBytes = row.bodyCapBytes ?? (isReading(row.method) ? 0 : door.bodyCapBytes);
  const abort = (reason: Error) => request.abort(reason);
  const answer = (handle: Answer) => gate(() => handle(request), deadlineMs, abort);
  const admitted = gate(() => row.admit(request), deadlineMs, abort);
  if (capBytes === 0 && !(admitted instanceof Promise)) return answer(admitted);
  const readThenAnswer = async () => {
    const handle = admitted instanceof Promise ? await admitted : admitted;
    if (capBytes > 0) request.body = await readBody(incoming, response, capBytes);
    return answer(handle);
  };
  return readThenAnswer();
}

function answerWithoutRow(door: Door, { request, allow }: Exchange): HttpReply {
  if (allow.length === 0) throw new RefusedRequest(nothingThere(door));
  if (request.method !== 'OPTIONS') throw new RefusedRequest(refusal('method_not_allowed', { allow }));
  const { crossOrigin } = door;
  const headers = { Allow: allow.join(', ') };
  return {
    status: 204,
    headers: crossOrigin === undefined ? headers : { ...headers, ...preflightHeaders(crossOrigin, allow) },
  };
}

function nothingThere({ signpost }: Door): Refusal {
  const refused = refusal('not_found');
  return signpost === undefined ? refused : { ...refused, detail: `${refused.detail} ${signpost}` };
}

/** Undefined for what nobody expected. */
function replyToError({ door, events }: Mounting, { request }: Exchange, error: unknown): HttpReply | undefined {
  const refused = error instanceof RefusedRequest ? error : abortedBy(error, request.signal);
  if (refused instanceof ClientGone) return door.refuse(refusal('incomplete_body'), request.requestId);
  if (refused instanceof RefusedRequest) {
    if (refused.refusal.kind === 'overloaded') events.requestRefusedForOverload({ door: door.name });
    return door.refuse(refused.refusal, request.requestId);
  }
  return door.replyTo(error, request);
}

// What a route throws because its signal aborted: the reason itself, or an AbortError of some client library.
function abortedBy(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted || !(error instanceof Error)) return undefined;
  const isAbort = error === signal.reason || error.cause === signal.reason || error.name === 'AbortError';
  return isAbort ? signal.reason : undefined;
}

function expressApp(answer: (request: IncomingMessage) => Promise<void> | undefined) {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  return app.use((request) => answer(request));
}

function refuse(refused: RefusedRequest): never {
  throw refused;
}

const isReading = (method: HttpRoute['method']) => method === 'GET' || method === 'HEAD';
