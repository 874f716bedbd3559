// The id under which one request is found in the log, and the trace that it belongs to.
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

// Nothing that could break a log line, a header or a search for it.
const acceptedId = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;
// W3C Trace Context: version, trace id, parent id, flags; a trace id of zeros is none.
const traceparent = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/** The caller's X-Request-Id where it is harmless, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const asked = headers['x-request-id'];
  return typeof asked === 'string' && acceptedId.test(asked) ? asked : randomUUID();
}

export function traceIdOf(headers: IncomingHttpHeaders): string | undefined {
  const sent = headers.traceparent;
  return typeof sent === 'string' ? traceparent.exec(sent)?.[1] : undefined;
}
