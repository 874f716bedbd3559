// From what a row or the base itself makes of a request to the reply on the wire: refusals in the door's words, and its last
// word on each.
import type { Events } from '../telemetry/events.ts';
import { ClientGone, type Exchange } from './exchange.ts';
import { RefusedRequest, refusal } from './refusals.ts';
import { type CommonHeaders, sendReply } from './reply.ts';
import type { Door, HttpReply } from './route.ts';

export type Mounting = {
  readonly door: Door;
  readonly events: Events;
  readonly common: CommonHeaders;
};

type Work = () => HttpReply | Promise<HttpReply>;

/** Whatever happens becomes a reply; it never rejects. */
export const respond = (mounting: Mounting, exchange: Exchange, work: Work): void | Promise<void> =>
  whenDone(
    work,
    (error) => replyToFailure(mounting, exchange, error),
    (reply) => finish(mounting, exchange, reply),
  );

const finish = (mounting: Mounting, exchange: Exchange, reply: HttpReply): void | Promise<void> =>
  whenDone(
    () => mounting.door.finish?.(reply, exchange.request) ?? reply,
    (error) => {
      internalError(mounting, exchange, error);
      return reply;
    },
    (last) => send(mounting, exchange, last),
  );

/** Waits for nothing where there is nothing to wait for: a promise costs as much as many an answer. */
function whenDone(
  work: Work,
  failed: (error: unknown) => HttpReply,
  next: (reply: HttpReply) => void | Promise<void>,
): void | Promise<void> {
  let worked: HttpReply | Promise<HttpReply>;
  try {
    worked = work();
  } catch (error) {
    worked = failed(error);
  }
  if (!(worked instanceof Promise)) return next(worked);
  return worked.then(next, (error: unknown) => next(failed(error)));
}

function send(mounting: Mounting, exchange: Exchange, reply: HttpReply): void {
  const { response } = exchange;
  if (response.destroyed) return;
  try {
    exchange.bytes = sendReply(exchange, reply, mounting.common);
  } catch (error) {
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    exchange.bytes = sendReply(exchange, internalError(mounting, exchange, error), mounting.common);
  }
}

function replyToFailure(mounting: Mounting, exchange: Exchange, error: unknown): HttpReply {
  try {
    return replyToError(mounting, exchange, error) ?? internalError(mounting, exchange, error);
  } catch (another) {
    return internalError(mounting, exchange, another);
  }
}

function internalError({ door, events }: Mounting, { request }: Exchange, error: unknown): HttpReply {
  events.internalError({ where: door.name, error, requestId: request.requestId });
  return door.refuse(refusal('internal'), request.requestId);
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
