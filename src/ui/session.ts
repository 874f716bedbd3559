// Who is signed in, without a table of sessions: a cookie that holds the token, sealed by the service. The browser cannot
// read it, /v1 does not take it, and what it names is asked for anew with every page, so that a token that is revoked ends
// every session with it.
import type { Ca } from '../core/ca.ts';
import { CaError } from '../core/errors.ts';
import { openSecret, sealSecret } from '../core/secret-box.ts';
import type { HttpHead } from '../http/route.ts';

const NAME = '__Secure-acmery_ui';
/** No id of a row: what is sealed as a session opens as nothing else, and nothing else as a session. */
const SEALED_AS = 'ui-session';
export const SESSION_MS = 8 * 3_600_000;
/** Browsers keep 4,096 bytes of name and value; sealed and written in base64url the token grows by a third. */
export const LONGEST_TOKEN = 2_900;

// Not to scripts, not over plain HTTP, not in requests that another site has made, not to /v1.
const ATTRIBUTES = 'Path=/ui; HttpOnly; Secure; SameSite=Strict';

/** The Set-Cookie header of a new session. Throws `unavailable`. */
export async function sessionCookie(ca: Ca, token: string): Promise<string> {
  const endsAt = ca.clock.now().getTime() + SESSION_MS;
  const sealed = await sealSecret(ca, SEALED_AS, Buffer.from(`${endsAt} ${token}`));
  return `${NAME}=${sealed.toString('base64url')}; Max-Age=${SESSION_MS / 1_000}; ${ATTRIBUTES}`;
}

export const endedCookie = `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;

export const hasSessionCookie = (head: HttpHead): boolean => cookiesOf(head).length > 0;

/** The token of a session that has not ended; undefined for every other cookie. Throws `unavailable`. */
async function tokenOfSession(ca: Ca, head: HttpHead): Promise<string | undefined> {
  const [cookie, ...others] = cookiesOf(head);
  // Another host of the domain can set a second one: then nobody knows which is ours.
  if (cookie === undefined || others.length > 0) return undefined;
  const [endsAt = '', token = ''] = (await opened(ca, cookie)).split(' ');
  return token !== '' && Number(endsAt) > ca.clock.now().getTime() ? token : undefined;
}

async function opened(ca: Ca, cookie: string): Promise<string> {
  try {
    return (await openSecret(ca, SEALED_AS, Buffer.from(cookie, 'base64url'))).toString();
  } catch (error) {
    if (error instanceof CaError) throw error;
    // Not sealed here: a guess, or a cookie from before the wrap key was restored.
    return '';
  }
}

const cookiesOf = ({ headers }: HttpHead): readonly string[] =>
  (headers.cookie ?? '').split(';').flatMap((pair) => {
    const [name = '', value = ''] = pair.trim().split('=');
    return name === NAME && value !== '' ? [value] : [];
  });

/** The request as /v1 would have been sent it. One that has an Authorization of its own stays as it is. */
export async function withToken(ca: Ca, head: HttpHead): Promise<HttpHead> {
  const token = head.headers.authorization === undefined ? await tokenOfSession(ca, head) : undefined;
  return token === undefined ? head : sentBy(head, token);
}

export const sentBy = (head: HttpHead, token: string): HttpHead => ({
  method: head.method,
  url: head.url,
  path: head.path,
  params: head.params,
  query: head.query,
  headers: { ...head.headers, authorization: `Bearer ${token}` },
  clientAddress: head.clientAddress,
  requestId: head.requestId,
  signal: head.signal,
});
