// Signing in with a token of /v1, and out again. These are the only requests of /ui that a browser sends as POST, and they
// are taken from our own pages alone.
import type { Ca } from '../core/ca.ts';
import type { Caller } from '../core/caller.ts';
import type { Answer, Door, HttpHead, HttpReply, HttpRoute } from '../http/route.ts';
import type { Authenticate } from './ports.ts';
import { isOwnForm } from './same-origin.ts';
import { endedCookie, hasSessionCookie, LONGEST_TOKEN, SESSION_MS, sentBy, sessionCookie } from './session.ts';
import { inUi } from './way-back.ts';

type SignInOptions = {
  readonly ca: Ca;
  readonly authenticate: Authenticate;
  readonly version: string;
  readonly replyTo: Door['replyTo'];
};

const FORM_CAP = 16 * 1024;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

const rendering = () => import('./rendering.ts');

export function signInRoutes(options: SignInOptions): readonly HttpRoute[] {
  const row = (method: 'GET' | 'POST', path: string, answer: (head: HttpHead) => Answer): HttpRoute => ({
    method,
    path,
    bodyCapBytes: method === 'POST' ? FORM_CAP : 0,
    admit: answer,
  });
  return [
    row('GET', '/ui/sign-in', (head) => () => signInPage(options, { way: head.query.get('next') ?? '' })),
    row(
      'POST',
      '/ui/sign-in',
      (head) =>
        ({ body }) =>
          signIn(options, head, body),
    ),
    row('GET', '/ui/signed-in', (head) => () => signedIn(options, head)),
    row('POST', '/ui/sign-out', (head) => () => signOut(options, head)),
    // What people type; the overview itself has no slash at its end.
    row('GET', '/ui/', () => () => seeOther('/ui')),
  ];
}

async function signIn(options: SignInOptions, head: HttpHead, body: Buffer): Promise<HttpReply> {
  const { ca, authenticate } = options;
  if (!isOwnForm(head)) return notOurForm(options);
  const form = new URLSearchParams(body.toString());
  const token = (form.get('token') ?? '').trim();
  const way = form.get('next') ?? '';
  const refuse = (status: number, complaint: string) => {
    ca.events.uiSignInRefused({ client: head.clientAddress, requestId: head.requestId, status });
    return signInPage(options, { way, status, complaint });
  };
  if (token === '') return refuse(422, 'Paste a token into the field.');
  if (!TOKEN.test(token)) return refuse(422, 'This is no token: tokens have no spaces, quotes or line breaks in them.');
  if (token.length > LONGEST_TOKEN)
    return refuse(422, `This is longer than the ${LONGEST_TOKEN} characters that a cookie can hold.`);
  let caller: Caller;
  try {
    caller = await authenticate(sentBy(head, token), 'read');
  } catch (error) {
    const reply = options.replyTo(error, head);
    // Only what is wrong with the token belongs beside the field.
    if (reply === undefined || (reply.status !== 401 && reply.status !== 403)) throw error;
    return refuse(reply.status, error instanceof Error ? error.message : '');
  }
  const { kind, name, permission } = caller;
  ca.events.uiSignedIn({
    kind,
    name,
    permission,
    client: head.clientAddress,
    requestId: head.requestId,
    forMs: SESSION_MS,
  });
  const reply = seeOther(`/ui/signed-in?${new URLSearchParams({ next: inUi(way) })}`);
  return { ...reply, headers: { ...reply.headers, 'Set-Cookie': await sessionCookie(ca, token) } };
}

/** Says so where the browser has not kept the cookie, in the place of asking for the token again and again. */
async function signedIn({ ca, version }: SignInOptions, head: HttpHead): Promise<HttpReply> {
  if (hasSessionCookie(head)) return seeOther(inUi(head.query.get('next') ?? ''));
  const { cookieNotKept } = await rendering();
  return cookieNotKept({ now: ca.clock.now(), version });
}

async function signOut(options: SignInOptions, head: HttpHead): Promise<HttpReply> {
  if (!isOwnForm(head)) return notOurForm(options);
  const reply = seeOther('/ui/sign-in');
  return { ...reply, headers: { ...reply.headers, 'Set-Cookie': endedCookie } };
}

async function signInPage(
  { ca, version }: SignInOptions,
  { way, ...asked }: { readonly way: string; readonly status?: number; readonly complaint?: string },
): Promise<HttpReply> {
  const { signInReply } = await rendering();
  return signInReply({ way: inUi(way), ...asked }, { now: ca.clock.now(), version });
}

async function notOurForm({ ca, version }: SignInOptions): Promise<HttpReply> {
  const { notOurFormReply } = await rendering();
  return notOurFormReply({ now: ca.clock.now(), version });
}

/** RFC 9110 section 15.4.4. */
const seeOther = (location: string): HttpReply => ({ status: 303, headers: { Location: location } });
