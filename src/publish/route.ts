// What a route of the publication listener is: one row that says method, path and handler. Whoever can reach it may ask.
import type { Ca } from '../core/ca.ts';
import type { HttpReply, HttpRequest } from '../http/route.ts';

export type PublishRoute = {
  /** `GET` answers HEAD too. */
  readonly method: 'GET' | 'POST';
  /** `/crl/:file`. */
  readonly path: string;
  /** Of a POST. */
  readonly bodyCapBytes?: number;
  /** Undefined where nothing is published at this path. */
  handle(ca: Ca, request: HttpRequest): Promise<HttpReply | undefined>;
};
