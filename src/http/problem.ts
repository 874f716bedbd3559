// Problem documents of RFC 9457: the one form of an error body at every door.
import { STATUS_CODES } from 'node:http';
import type { Refusal } from './refusals.ts';
import type { HttpHeaders, HttpReply } from './route.ts';

export type Problem = {
  readonly status: number;
  readonly detail: string;
  /** `about:blank` when absent: the status says it all. */
  readonly type?: string;
  /** The status in words when absent. */
  readonly title?: string;
  /** Further members, in order, after the five of the RFC; undefined ones are left out. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly headers?: HttpHeaders;
};

export function problemReply({ status, detail, type, title, extensions, headers }: Problem): HttpReply {
  const document = {
    type: type ?? 'about:blank',
    title: title ?? STATUS_CODES[status] ?? 'Error',
    status,
    detail: oneLine(detail),
    ...extensions,
  };
  return {
    status,
    headers: { 'Content-Type': 'application/problem+json', 'Content-Language': 'en', ...headers },
    body: JSON.stringify(document),
  };
}

/** How a door without types of its own shows what the base refuses. */
export const refusalProblem = ({ kind, status, detail, headers }: Refusal, requestId: string | undefined): HttpReply =>
  problemReply({ status, detail, headers, extensions: { code: kind, request_id: requestId } });

// ERR-8: shell clients read the document line by line.
const oneLine = (text: string) => text.replace(/[\r\n]+/g, ' ');
