// From what a page or a refusal says to the reply that a browser gets. Loaded when the first page is asked for.
import { html } from '../html/html.ts';
import type { HttpHead, HttpReply } from '../http/route.ts';
import { pageHeaders } from './headers.ts';
import type { PageInput } from './page.ts';
import { pages } from './pages/pages.ts';
import { type SignInAsked, signInPage } from './pages/sign-in.ts';
import { document, type Made } from './parts/layout.ts';
import type { UiPage } from './routes.ts';
import { isLedFromElsewhere } from './same-origin.ts';
import { endedCookie, hasSessionCookie } from './session.ts';
import { inUi } from './way-back.ts';

export async function pageReply(page: UiPage, input: PageInput, version: string): Promise<HttpReply> {
  const shown = await pages[page.name](input);
  if ('location' in shown) return { status: 303, headers: { Location: shown.location } };
  const { title, body, searched } = shown;
  const { caller, path, now } = input;
  const shell = { title, main: body, caller, path, ...(searched !== undefined && { searched }) };
  return { status: 200, headers: pageHeaders, body: document(shell, { now, version }) };
}

/** A problem document as a page: what was refused anywhere below /ui, be it by a page, the door or the HTTP base. */
export function problemReply(reply: HttpReply, head: HttpHead, made: Made): HttpReply {
  const problem = readProblem(reply);
  const { 'Content-Type': _, ...kept } = reply.headers ?? {};
  const headers = { ...kept, ...pageHeaders };
  if (reply.status === 401 && isLedFromElsewhere(head) && !hasSessionCookie(head))
    return { status: 200, headers: pageHeaders, body: document(onceMore(head.url), made) };
  if (reply.status === 401) {
    const asked = signInReply({ way: inUi(head.url), complaint: complaintOf(problem, head), status: 401 }, made);
    return { ...asked, headers: { ...headers, 'Set-Cookie': endedCookie } };
  }
  const { title = 'Something went wrong', detail = '', request_id: requestId } = problem;
  const main = html`<p class="lead">${detail}</p>
${advice(reply.status)}
<p><a href="/ui">Overview</a></p>
${
  typeof requestId === 'string'
    ? html`<p class="soft">Status ${reply.status}. The log knows this request as <code>${requestId}</code>.</p>`
    : undefined
}`;
  return { status: reply.status, headers, body: document({ title, main }, made) };
}

export const signInReply = (
  { status = 200, ...asked }: SignInAsked & { readonly status?: number },
  made: Made,
): HttpReply => ({
  status,
  headers: pageHeaders,
  body: document({ title: 'Sign in', main: signInPage(asked) }, made),
});

export const cookieNotKept = (made: Made): HttpReply =>
  said(400, 'Your browser did not keep the cookie', made, [
    'The token was right, but it is only kept over HTTPS: open this page by an address that begins with https://.',
    'Where it does already, cookies are switched off in this browser.',
  ]);

export const notOurFormReply = (made: Made): HttpReply =>
  said(403, 'Not sent from this page', made, [
    'This form is only taken from a page of this very service. Nothing was done.',
    'If you did not come from another site, a proxy in front may have changed the Host or Origin of the request.',
  ]);

const said = (status: number, title: string, made: Made, sentences: readonly string[]): HttpReply => ({
  status,
  headers: pageHeaders,
  body: document(
    { title, main: html`${sentences.map((text) => html`<p>${text}</p>`)}<p><a href="/ui/sign-in">Sign in</a></p>` },
    made,
  ),
});

/** From our own page the browser sends the cookie that it has kept back from the other site's link. */
const onceMore = (url: string) => ({
  title: 'One moment',
  head: html`<meta http-equiv="refresh" content="0; url=${url}">`,
  main: html`<p>You came from another site. <a href="${url}">Go on</a></p>`,
});

type Problem = {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly request_id?: string | null;
};

/** Written by the door of /v1 a moment ago. */
const readProblem = ({ body = '{}' }: HttpReply): Problem => JSON.parse(body.toString());

/** Nobody who only opens the page has done anything wrong. */
function complaintOf({ code, detail }: Problem, head: HttpHead): string | undefined {
  if (code !== 'missing_credential') return detail;
  return hasSessionCookie(head) ? 'Your session has ended. Sign in again.' : undefined;
}

function advice(status: number) {
  switch (status) {
    case 403:
      return html`<p>Sign out, and in again with a token that may do more.</p>
<form action="/ui/sign-out" method="post"><button type="submit">Sign out</button></form>`;
    case 503:
      return html`<p>Nothing is lost. Load the page again in a few seconds.</p>`;
    default:
      return undefined;
  }
}
