// The publication door: what relying parties read over plain HTTP, without credentials, and refusals in a line of text.
import { randomInt } from 'node:crypto';
import type { Ca } from '../core/ca.ts';
import { refusalOf } from '../core/refusals.ts';
import type { Refusal } from '../http/refusals.ts';
import type { Door, HttpHeaders, HttpReply, HttpRoute } from '../http/route.ts';
import type { PublishRoute } from './route.ts';

type PublishDoorOptions = { readonly ca: Ca; readonly routes: readonly PublishRoute[] };

const DEADLINE_MS = 30_000;

export const publishDoor = ({ ca, routes }: PublishDoorOptions): Door => ({
  name: 'publish',
  routes: routes.map((row) => httpRoute(row, ca)),
  signpost: 'Certificates name the URLs of their CRL, of OCSP and of their CA.',
  bodyCapBytes: 0,
  deadlineMs: DEADLINE_MS,
  // Every relying party asks, again and again.
  accessLevel: 'debug',
  refuse: ({ status, detail, headers }: Refusal) => textReply(status, detail, headers),
  replyTo: replyToError,
});

const httpRoute = ({ method, path, bodyCapBytes = 0, handle }: PublishRoute, ca: Ca): HttpRoute => ({
  method,
  path,
  bodyCapBytes,
  admit: () => async (request) => (await handle(ca, request)) ?? textReply(404, 'Nothing is published at this path.'),
});

/** Only what is away for the moment is expected here. */
function replyToError(error: unknown): HttpReply | undefined {
  const refused = refusalOf(error);
  if (refused?.kind !== 'unavailable') return undefined;
  return textReply(503, refused.message, { 'Retry-After': String(randomInt(1, 6)) });
}

const textReply = (status: number, line: string, headers: HttpHeaders = {}): HttpReply => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers },
  body: `${line}\n`,
});
