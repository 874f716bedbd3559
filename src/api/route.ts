// What a /v1 route is: one row that says method, path, permission, shapes and handler. Serving, OpenAPI, docs and tests read it.
import type { Ca } from '../core/ca.ts';
import type { Caller, Permission } from '../core/caller.ts';
import type { ObjectKind } from '../core/object-kinds.ts';
import type { HttpHeaders } from '../http/route.ts';
import type { TSchema } from '../schema/define.ts';
import type { Body } from './body.ts';
import type { Parameters, ValuesOf } from './parameters.ts';
import type { QueryRules } from './query.ts';

export type ApiReply = {
  readonly status: number;
  readonly json?: unknown;
  /** A body that is not JSON. */
  readonly content?: { readonly mediaType: string; readonly bytes: string | Buffer };
  readonly headers?: HttpHeaders;
};

/** What a status answers with: a sentence, and the shape of its JSON or the media types of what is not JSON. */
export type ReplyShape = {
  readonly description: string;
  readonly schema?: TSchema;
  readonly mediaTypes?: readonly string[];
  /** Headers that it may have, with a sentence each. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** The `:names` of a path, and whose ids stand there. */
export type PathIds = Readonly<Record<string, ObjectKind>>;

type RouteInput<P, Q, B> = {
  readonly ca: Ca;
  readonly caller: Caller;
  /** Uuids, by the names in the path. */
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Path and query as sent. */
  readonly url: { readonly path: string; readonly query: URLSearchParams };
  /** Of the client itself, where a trusted proxy stands between. */
  readonly clientAddress: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
};

type Described = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `/v1/orders/:id`. */
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  /** A short sentence without a full stop. */
  readonly summary: string;
  readonly description?: string;
  readonly params?: PathIds;
  readonly requireOneOf?: QueryRules['requireOneOf'];
  readonly bodyCapBytes?: number;
  /** When absent: the door's. */
  readonly deadlineMs?: number;
  /** Those of success; what can be refused follows from the row. */
  readonly replies: Readonly<Record<number, ReplyShape>>;
};

export type ApiRoute = Described & {
  /** Levels nest: admin includes write includes read. `none`: no credential is asked for. */
  readonly permission: Permission | 'none';
  readonly query?: Parameters;
  /** Without one a body is ignored. */
  readonly body?: Body;
  handle(input: RouteInput<unknown, unknown, unknown>): ApiReply | Promise<ApiReply>;
};

type Row<P extends PathIds, Q extends Parameters, B> = Described & {
  readonly permission: Permission;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: Body<B>;
  handle(input: RouteInput<{ readonly [N in keyof P]: string }, ValuesOf<Q>, B>): ApiReply | Promise<ApiReply>;
};

/** A row whose handler sees params, query and body as the row declares them. */
export const route = <const P extends PathIds, Q extends Parameters, B>(row: Row<P, Q, B>): ApiRoute => row;

/** A row that everybody may ask for; there is no caller. */
export const publicRoute = (row: Described & { handle(): ApiReply | Promise<ApiReply> }): ApiRoute => ({
  ...row,
  permission: 'none',
});

export const ok = (json: unknown): ApiReply => ({ status: 200, json });
export const created = (json: unknown): ApiReply => ({ status: 201, json });
/** The resource is gone from reads; what remains to be done goes on in the background. */
export const accepted = (): ApiReply => ({ status: 202 });
export const noContent = (): ApiReply => ({ status: 204 });
export const content = (mediaType: string, bytes: string | Buffer, headers: HttpHeaders = {}): ApiReply => ({
  status: 200,
  content: { mediaType, bytes },
  headers,
});
