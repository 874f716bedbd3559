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
import { commonHeaders, preflightHeaders } from './reply.ts';
import type { RequestLimiter } from './request-limiter.ts';
import { respond } from './respond.ts';
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

function runRow(door: Door, gate: WorkGate, exchange: Exchange, row: HttpRoute): HttpReply | Promise<HttpReply> {
  const { request } = exchange;
  const deadlineMs = row.deadlineMs ?? door.deadlineMs;
  const capBytes = row.bodyCapBytes ?? (isReading(row.method) ? 0 : door.bodyCapBytes);
  const admitted = gate(row.admit, request, deadlineMs);
  if (capBytes > 0 || admitted instanceof Promise)
    return readThenAnswer(gate, exchange, admitted, capBytes, deadlineMs);
  return gate(admitted, request, deadlineMs);
}

async function readThenAnswer(
  gate: WorkGate,
  { incoming, response, request }: Exchange,
  admitted: Answer | Promise<Answer>,
  capBytes: number,
  deadlineMs: number,
): Promise<HttpReply> {
  const answer = admitted instanceof Promise ? await admitted : admitted;
  if (capBytes > 0) request.body = await readBody(incoming, response, capBytes);
  return gate(answer, request, deadlineMs);
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

function expressApp(answer: (request: IncomingMessage) => void | Promise<void>) {
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
