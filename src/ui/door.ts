// The status page on the listener of /v1: its routes beside those of the door that is there, and every refusal below /ui as
// a page. Whatever renders is loaded when it is first asked for.
import type { Ca } from '../core/ca.ts';
import { CaError } from '../core/errors.ts';
import { parseId } from '../core/ids.ts';
import { objectKinds } from '../core/object-kinds.ts';
import type { Door, HttpHead, HttpReply, HttpRoute } from '../http/route.ts';
import { quoted } from '../schema/field-problem.ts';
import { assetRoutes } from './assets.ts';
import type { Authenticate } from './ports.ts';
import { type UiPage, uiPages } from './routes.ts';
import { withToken } from './session.ts';
import { signInRoutes } from './sign-in.ts';

export type UiOptions = { readonly ca: Ca; readonly authenticate: Authenticate; readonly version: string };

const rendering = () => import('./rendering.ts');

/** The door of /v1, with pages for people below /ui. */
export function withUi(door: Door, options: UiOptions): Door {
  const { ca, version } = options;
  return {
    ...door,
    signpost: `${door.signpost ?? ''} /ui shows it to people.`.trim(),
    routes: [
      ...door.routes,
      ...uiPages.map((page) => pageRoute(page, options)),
      ...signInRoutes({ ...options, replyTo: door.replyTo }),
      ...assetRoutes,
    ],
    finish: async (reply, head) => {
      if (!isBelowUi(head.path)) return door.finish?.(reply, head) ?? reply;
      if (!isProblem(reply)) return reply;
      const { problemReply } = await rendering();
      return problemReply(reply, head, { now: ca.clock.now(), version });
    },
  };
}

const pageRoute = (page: UiPage, { ca, authenticate, version }: UiOptions): HttpRoute => ({
  method: 'GET',
  path: page.path,
  admit: async (head) => {
    const caller = await authenticate(await withToken(ca, head), page.permission);
    const id = idOf(page, head);
    return async () => {
      const { pageReply } = await rendering();
      const input = { ca, caller, now: ca.clock.now(), id, query: head.query, path: head.path };
      return pageReply(page, input, version);
    };
  },
});

/** The uuid in the path. An id that cannot be one is the id of nothing. */
function idOf({ of }: UiPage, { params }: HttpHead): string {
  if (of === undefined) return '';
  const { prefix, noun } = objectKinds[of];
  const text = params.id ?? '';
  const uuid = parseId(prefix, text);
  if (uuid === undefined) throw new CaError('not_found', `There is no ${noun} ${quoted(text, 60)}.`);
  return uuid;
}

const isBelowUi = (path: string): boolean => path === '/ui' || path.startsWith('/ui/');

const isProblem = ({ headers = {} }: HttpReply): boolean => headers['Content-Type'] === 'application/problem+json';
