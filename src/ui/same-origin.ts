// Whether a form was sent by a page of our own: what another site makes a browser send changes nothing here.
import type { HttpHead } from '../http/route.ts';

/** Sec-Fetch-Site is the browser's own word; those that lack it name the page's origin with every POST. */
export function isOwnForm({ headers }: HttpHead): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  return origin !== undefined && host !== undefined && hostOf(origin) === host.toLowerCase();
}

/** A link on another site led here: the browser has kept our SameSite=Strict cookie back, whether there is one or not. */
export const isLedFromElsewhere = ({ method, headers }: HttpHead): boolean =>
  method === 'GET' && headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] === 'navigate';

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);
