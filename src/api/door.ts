// The /v1 door: the route table as routes of the HTTP base. Who calls is settled before a byte of the body is read and
// before ids are looked at; unknown paths and wrong methods are told to everybody, as /v1/openapi.json tells them too.
import type { Ca } from '../core/ca.ts';
import { CaError } from '../core/errors.ts';
import { parseId } from '../core/ids.ts';
import { objectKinds } from '../core/object-kinds.ts';
import type { Door, HttpHead, HttpReply, HttpRoute } from '../http/route.ts';
import { quoted } from '../schema/field-problem.ts';
import { type Authenticator, authenticator, type Credentials } from './authenticate.ts';
import { readBody } from './body.ts';
import { replyToError, replyToRefusal } from './problems.ts';
import { readQuery } from './query.ts';
import type { ApiReply, ApiRoute } from './route.ts';

export type ApiDoorOptions = Credentials & { readonly ca: Ca; readonly routes: readonly ApiRoute[] };

const BODY_CAP = 256 * 1024;
/** Long enough for an RSA key that waits for another one. */
const DEADLINE_MS = 60_000;

export function apiDoor({ ca, routes, ...credentials }: ApiDoorOptions): Door {
  const authenticate = authenticator(ca, credentials);
  return {
    name: 'api',
    routes: routes.map((row) => httpRoute(row, ca, authenticate)),
    signpost: 'The interface begins at /v1; /v1/docs describes it.',
    bodyCapBytes: BODY_CAP,
    deadlineMs: DEADLINE_MS,
    accessLevel: 'info',
    refuse: replyToRefusal,
    replyTo: (error, head) => replyToError(error, head.requestId),
  };
}

const httpRoute = (row: ApiRoute, ca: Ca, authenticate: Authenticator): HttpRoute => ({
  method: row.method,
  path: row.path,
  bodyCapBytes: row.body === undefined ? 0 : (row.bodyCapBytes ?? BODY_CAP),
  ...(row.deadlineMs !== undefined && { deadlineMs: row.deadlineMs }),
  admit: async (head) => {
    const caller = row.permission === 'none' ? nobody : await authenticate(head, row.permission);
    const query = readQuery(row, head.query);
    const params = readIds(row, head);
    return async (request) => {
      const body = row.body === undefined ? undefined : readBody(row.body, request);
      const { path, clientAddress, signal, requestId } = head;
      const url = { path, query: head.query };
      try {
        return httpReply(row, await row.handle({ ca, caller, params, query, body, url, clientAddress, signal }));
      } catch (error) {
        // The core names fields of the resource; the caller wrote them inside the wrapper of the body.
        const reply = replyToError(error, requestId, row.body?.wrapper);
        if (reply === undefined) throw error;
        return reply;
      }
    };
  },
});

// Rows without a permission have handlers without input.
const nobody = { kind: 'service', name: '', permission: 'read' } as const;

/** An id that cannot be one is the id of nothing. */
function readIds({ params = {} }: ApiRoute, head: HttpHead): Readonly<Record<string, string>> {
  const uuids = Object.entries(params).map(([name, kind]) => {
    const text = head.params[name] ?? '';
    const uuid = parseId(objectKinds[kind].prefix, text);
    if (uuid === undefined)
      throw new CaError('not_found', `There is no ${objectKinds[kind].noun} ${quoted(text, 60)}.`);
    return [name, uuid];
  });
  return Object.fromEntries(uuids);
}

function httpReply(row: ApiRoute, { status, json, content, headers }: ApiReply): HttpReply {
  if (content !== undefined)
    return { status, headers: { 'Content-Type': content.mediaType, ...headers }, body: content.bytes };
  if (json === undefined) return { status, ...(headers && { headers }) };
  return {
    status,
    headers: { 'Content-Type': 'application/json', ...(status === 201 && locationOf(row, json)), ...headers },
    body: JSON.stringify(json),
  };
}

/** What was created below a collection lies there under its id. */
const locationOf = ({ path }: ApiRoute, json: unknown) =>
  typeof json === 'object' && json !== null && 'id' in json ? { Location: `${path}/${String(json.id)}` } : {};
