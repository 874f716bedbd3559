// The ACME door: the route table as routes of the HTTP base, with a nonce and a link to the directory on every reply.
import { type AcmeDirectory, findAcmeContext, isSlug, recentDirectory } from '../core/acme-requests.ts';
import type { Ca } from '../core/ca.ts';
import { KeysUnavailable } from '../core/errors.ts';
import type { Nonces } from '../core/nonces.ts';
import { Recent } from '../core/recent.ts';
import { directoryUrl, hasHostPerDirectory, slugInHost, type Urls } from '../core/urls.ts';
import type { Door, HttpHead, HttpHeaders, HttpReply, HttpRoute } from '../http/route.ts';
import { replyToError, replyToRefusal } from './problems.ts';
import { checkRequest, requireJoseJson } from './request-checks.ts';
import type { AcmeReply, AcmeRequest, AcmeRoute, OpenRoute, SignedRoute } from './route.ts';

export type AcmeDoorOptions = { readonly ca: Ca; readonly nonces: Nonces; readonly routes: readonly AcmeRoute[] };

const BODY_CAP = 64 * 1024;
/** Long enough for a signature by an RSA key that others wait for, too. */
const DEADLINE_MS = 60_000;
const PREFLIGHT_SECONDS = 86_400;

export function acmeDoor({ ca, nonces, routes }: AcmeDoorOptions): Door {
  const indexLink = indexLinks(ca.urls);
  return {
    name: 'acme',
    routes: routes.flatMap((row) =>
      row.signer === 'none'
        ? pathsOf(row, ca.urls).flatMap((path) => [
            readingRoute(ca, path, row),
            postingRoute(ca, nonces, path, readBySigned(row)),
          ])
        : [postingRoute(ca, nonces, row.path, row)],
    ),
    signpost: `The ACME server of a directory begins at ${directoryUrl(ca.urls, '<slug>')}.`,
    bodyCapBytes: BODY_CAP,
    deadlineMs: DEADLINE_MS,
    accessLevel: 'info',
    refuse: replyToRefusal,
    replyTo: (error, { requestId }) => {
      if (error instanceof KeysUnavailable) ca.events.keysUnavailable({ error, requestId });
      return replyToError(error, requestId);
    },
    finish: (reply, head) => ({ ...reply, headers: withEveryones(indexLink, nonces, head, reply) }),
    // HTTP-9: any page may be a client, for what a request may do is in its signature.
    crossOrigin: {
      origin: '*',
      exposedHeaders: ['Link', 'Replay-Nonce', 'Location', 'Retry-After'],
      allowedHeaders: ['Content-Type'],
      maxAgeSeconds: PREFLIGHT_SECONDS,
    },
  };
}

const readingRoute = (ca: Ca, path: string, row: OpenRoute): HttpRoute => ({
  method: 'GET',
  path,
  admit: (head) => () => {
    const asked = { slug: slugOf(ca.urls, head), clientAddress: head.clientAddress };
    const directory = row.mayLag ? recentDirectory(ca, asked) : directoryNow(ca, asked);
    return after(directory, (found) => after(row.handle(requestOf(ca, head, found)), httpReply));
  },
});

const directoryNow = async (ca: Ca, asked: Parameters<typeof findAcmeContext>[1]): Promise<AcmeDirectory> =>
  (await findAcmeContext(ca, asked)).directory;

/** At once where the value is there. */
const after = <From, To>(value: From | Promise<From>, next: (value: From) => To | Promise<To>): To | Promise<To> =>
  value instanceof Promise ? value.then(next) : next(value);

const postingRoute = (ca: Ca, nonces: Nonces, path: string, row: SignedRoute): HttpRoute => ({
  method: 'POST',
  path,
  admit: (head) => {
    requireJoseJson(head);
    return async (request) => {
      const options = { ca, nonces, slug: slugOf(ca.urls, head) };
      const { signed, directory, url, payload, ahead } = await checkRequest(options, row, request);
      return httpReply(await row.handle({ ...requestOf(ca, head, directory), url, payload, ahead, ...signed }));
    };
  },
});

/** HTTP-6: what is read by GET is read by POST-as-GET, too. */
const readBySigned = ({ path, handle }: OpenRoute): SignedRoute => ({ path, signer: 'account', handle });

/** HTTP-18: the Host header chooses nothing but the directory of the bare root. */
const slugOf = (urls: Urls, { params, headers }: HttpHead): string =>
  params.slug ?? slugInHost(urls, headers.host ?? '') ?? '';

const pathsOf = ({ path, alsoAt = [] }: OpenRoute, urls: Urls): readonly string[] => [
  path,
  ...alsoAt.filter((other) => other !== '/' || hasHostPerDirectory(urls)),
];

const methods = { GET: 'GET', HEAD: 'HEAD', POST: 'POST' } as const;

const requestOf = (ca: Ca, head: HttpHead, directory: AcmeDirectory): AcmeRequest => ({
  ca,
  directory,
  method: head.method === 'HEAD' ? methods.HEAD : head.method === 'GET' ? methods.GET : methods.POST,
  params: head.params,
  accept: head.headers.accept,
  clientAddress: head.clientAddress,
  requestId: head.requestId,
  head,
});

function httpReply({ status, json, content, headers }: AcmeReply): HttpReply {
  if (content !== undefined)
    return { status, headers: { 'Content-Type': content.mediaType, ...headers }, body: content.bytes };
  if (json === undefined) return { status, ...(headers && { headers }) };
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(json) };
}

/** NON-3, NON-4, HTTP-10. Links of the reply itself stay beside the one to the directory. */
function withEveryones(
  indexLink: (path: string) => string | undefined,
  nonces: Nonces,
  { method, path }: HttpHead,
  { headers }: HttpReply,
): HttpHeaders {
  const cacheControl = headers?.['Cache-Control'];
  // A nonce from a cache would be refused to all but the first who use it.
  const isForCaches = method !== 'POST' && cacheControl !== undefined && /^public\b/.test(String(cacheControl));
  const all: Record<string, HttpHeaders[string]> = { ...headers };
  if (!isForCaches) all['Replay-Nonce'] = nonces.issue();
  const index = indexLink(path);
  if (index !== undefined) all.Link = [index, ...[headers?.Link ?? []].flat()];
  return all;
}

const SLUGS = 1_000;

/** To the directory that a path is below; undefined at itself and elsewhere. */
function indexLinks(urls: Urls): (path: string) => string | undefined {
  const known = new Recent<string>(SLUGS);
  return (path) => {
    const [, slug = '', rest] = BELOW_DIRECTORY.exec(path) ?? [];
    if (rest === undefined || rest === 'directory' || rest === 'directory/') return undefined;
    const kept = known.get(slug);
    if (kept !== undefined || !isSlug(slug)) return kept;
    const link = `<${directoryUrl(urls, slug)}>;rel="index"`;
    known.set(slug, link);
    return link;
  };
}

const BELOW_DIRECTORY = /^\/acme\/([^/]+)\/(.*)$/;
