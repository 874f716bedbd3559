// The body of a request: read under a cap, or thrown away without letting a client send for ever.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RefusedRequest, refusal } from './refusals.ts';

const NO_BYTES = Buffer.alloc(0);
// What a refused client may still send before its connection is cut. Cutting at once would lose our reply on its way.
const DISCARDED_BYTES = 1024 * 1024;

/** Refuses what is over the cap as soon as that is known: by its announced length, else at the first byte too many. */
export function readBody(request: IncomingMessage, response: ServerResponse, capBytes: number): Promise<Buffer> {
  if (capBytes === 0 || !hasBody(request)) return Promise.resolve(NO_BYTES);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const refuse = (kind: 'body_too_large' | 'incomplete_body', detail?: string) => {
    request.off('data', take).off('end', end).off('close', close);
    reject(new RefusedRequest(refusal(kind, detail === undefined ? {} : { detail })));
  };
  const tooLarge = () =>
    refuse('body_too_large', `The body is larger than the ${capBytes} bytes that this path takes.`);
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size > capBytes) tooLarge();
  };
  const end = () => {
    request.off('close', close);
    resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size));
  };
  const close = () => refuse('incomplete_body');

  if (Number(request.headers['content-length'] ?? 0) > capBytes) tooLarge();
  else {
    if (isAwaitingContinue(request)) response.writeContinue();
    request.on('data', take).on('end', end).on('close', close);
  }
  return promise;
}

/** Call once the reply is on its way: what is left of the body must not reach the next request of the connection. */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || !hasBody(request)) return;
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > DISCARDED_BYTES) request.socket.destroy();
  });
}

/** The client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1). */
export const isAwaitingContinue = (request: IncomingMessage) =>
  hasBody(request) && request.headers.expect?.toLowerCase() === '100-continue';

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
