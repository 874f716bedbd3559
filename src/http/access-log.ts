// One event per request after it ended: who asked what, how it went, how long it took. Never a query or a body.
import type { Events } from '../telemetry/events.ts';
import type { LogLevel } from '../telemetry/log.ts';
import type { Exchange } from './exchange.ts';

const LONGEST_PATH = 256;

export function logEnded(
  { request, response, route, traceId, startedAt, bytes }: Exchange,
  door: { readonly name: string; readonly accessLevel: LogLevel },
  events: Events,
): void {
  events.requestFinished({
    door: door.name,
    requestId: request.requestId,
    method: request.method,
    route,
    path: request.path.slice(0, LONGEST_PATH),
    status: response.writableFinished ? response.statusCode : undefined,
    durationMs: performance.now() - startedAt,
    bytes,
    client: request.clientAddress,
    traceId,
    level: door.accessLevel,
  });
}
