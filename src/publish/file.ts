// A published file as it is answered: with what caches need to keep it, and 304 to who has it already (RFC 9110, 9111).
import type { HttpHeaders, HttpReply, HttpRequest } from '../http/route.ts';

export type PublishedFile = {
  readonly mediaType: string;
  /** Without quotes; another one for other bytes. */
  readonly tag: string;
  readonly lastModified: Date;
  /** From then on caches must not use it. */
  readonly endsAt: Date;
  /** Undefined where it has just been replaced. */
  read(): Promise<Buffer | string | undefined>;
};

const LONGEST_FRESH_MS = 3_600_000;
/** So that nobody holds on to what is about to end. */
const SHARE_OF_REMAINING = 4;

/** Fresh for an hour at most, and for a quarter of what remains until it ends. Undefined where there are no bytes. */
export async function fileReply(file: PublishedFile, request: HttpRequest, now: Date): Promise<HttpReply | undefined> {
  const headers = headersOf(file, now);
  const { 'if-none-match': tags, 'if-modified-since': since } = request.headers;
  if (isKnown(file, tags, since)) return { status: 304, headers };
  const body = await file.read();
  if (body === undefined) return undefined;
  return { status: 200, headers: { 'Content-Type': file.mediaType, ...headers }, body };
}

function headersOf({ tag, lastModified, endsAt }: PublishedFile, now: Date): HttpHeaders {
  const remainingMs = Math.max(0, endsAt.getTime() - now.getTime());
  const seconds = Math.floor(Math.min(LONGEST_FRESH_MS, remainingMs / SHARE_OF_REMAINING) / 1000);
  const expires = Math.min(now.getTime() + seconds * 1000, endsAt.getTime());
  return {
    ETag: `"${tag}"`,
    'Last-Modified': lastModified.toUTCString(),
    'Cache-Control': `public, max-age=${seconds}`,
    Expires: new Date(expires).toUTCString(),
  };
}

/** RFC 9110 section 13.2.2: where tags are given, dates do not count. */
export function isKnown(
  { tag, lastModified }: Pick<PublishedFile, 'tag' | 'lastModified'>,
  tags: string | undefined,
  since: string | undefined,
): boolean {
  if (tags !== undefined) return tags.trim() === '*' || tagsIn(tags).includes(tag);
  const sinceMs = Date.parse(since ?? '');
  return Math.floor(lastModified.getTime() / 1000) * 1000 <= sinceMs;
}

const tagsIn = (list: string): readonly string[] => [...list.matchAll(/(?:W\/)?"([^"]*)"/g)].map(([, tag = '']) => tag);
