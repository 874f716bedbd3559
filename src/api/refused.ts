// Which statuses of failure a route can answer with, and what is to be known of each: for OpenAPI, docs and tests.
import type { ApiRoute } from './route.ts';

export const failures = {
  400: { name: 'BadRequest', description: 'The query, the JSON or the request itself is malformed.' },
  401: { name: 'Unauthorized', description: 'No credential came, or one that is not valid.' },
  403: { name: 'Forbidden', description: 'The credential does not have the permission that this operation needs.' },
  404: { name: 'NotFound', description: 'There is no such resource.' },
  413: { name: 'ContentTooLarge', description: 'The body is larger than this operation takes.' },
  415: { name: 'UnsupportedMediaType', description: 'The body is not sent as application/json.' },
  422: { name: 'UnprocessableContent', description: 'The operation failed; `errors` names all fields at fault.' },
  500: { name: 'InternalError', description: 'A bug of the service; the log holds it under the request id.' },
  503: {
    name: 'ServiceUnavailable',
    description: 'Something that the service depends on is away, or it is overloaded.',
  },
} as const satisfies Readonly<Record<number, { name: string; description: string }>>;

export type FailureStatus = keyof typeof failures;

const always: readonly FailureStatus[] = [400, 500, 503];

export function failuresOf({ permission, params, body, method }: ApiRoute): readonly FailureStatus[] {
  return [
    ...always,
    ...(permission === 'none' ? [] : ([401, 403] as const)),
    ...(params === undefined ? [] : ([404] as const)),
    ...(body === undefined ? [] : ([413, 415] as const)),
    ...(method === 'GET' ? [] : ([422] as const)),
  ].sort((a, b) => a - b);
}

/** Headers that a failure has. */
export const failureHeaders: Readonly<Partial<Record<FailureStatus, Readonly<Record<string, string>>>>> = {
  401: { 'WWW-Authenticate': 'Which credential is expected, and what is wrong with the one that came (RFC 6750).' },
  403: { 'WWW-Authenticate': 'Which permission is needed, as scope (RFC 6750).' },
  503: { 'Retry-After': 'Seconds to wait before the next attempt.' },
};
