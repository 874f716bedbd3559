// One event per request after it ended: who asked what, how it went, how long it took. Never a query or a body.
import type { Events } from '../telemetry/events.ts';
import type { LogLevel } from '../telemetry/log.ts';
import type { Exchange } from './exchange.ts';

const LONGEST_PATH = 256;

export function logWhenEnded(exchange: Exchange, door: { name: string; accessLevel: LogLevel }, events: Events): void {
  const { head, response, traceId, startedAt } = exchange;
  response.on('close', () => {
    events.requestFinished({
      door: door.name,
      requestId: head.requestId,
      method: head.method,
      route: exchange.route,
      path: head.path.slice(0, LONGEST_PATH),
      status: response.writableFinished ? response.statusCode : undefined,
      durationMs: performance.now() - startedAt,
      bytes: exchange.bytes,
      client: head.clientAddress,
      traceId,
      level: door.accessLevel,
    });
  });
}
