// Counts that end at a bound.
import { MOST_COUNTED } from '../../core/directory-report.ts';
import { type Html, html } from '../../html/html.ts';

/** `1000 or more` where counting ended. */
export const counted = (count: number): string => (count >= MOST_COUNTED ? `${MOST_COUNTED}+` : String(count));

/** A count that leads to what was counted, where there is any. */
export const countedLink = (count: number, path: string): Html =>
  count === 0 ? html`0` : html`<a href="${path}">${counted(count)}</a>`;
