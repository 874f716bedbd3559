// Bytes that are no request, or came too slowly to become one: a proper answer where one can still be read.
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RefusalKind, refusal } from './refusals.ts';
import type { Door } from './route.ts';

const LINGER_MS = 1_000;

const kinds: Readonly<Record<string, RefusalKind>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  HPE_INVALID_EOF_STATE: 'incomplete_body',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Undefined where nobody could read an answer: a lost connection, a TLS handshake that failed. */
export const refusalOf = ({ code = '' }: NodeJS.ErrnoException): RefusalKind | undefined =>
  kinds[code] ?? (code.startsWith('HPE_') ? 'malformed_request' : undefined);

/** Writes the door's refusal straight to the socket and ends it. */
export function refuseSocket(socket: Duplex, kind: RefusalKind, refuse: Door['refuse']): void {
  if (!socket.writable) return void socket.destroy();
  const { status, headers, body = '' } = refuse(refusal(kind), undefined);
  const lines = Object.entries({
    ...headers,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  }).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...lines,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.resume();
  // Destroyed at once, with bytes of the client unread, the system would throw away the answer too.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
