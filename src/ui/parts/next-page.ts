// The way through a list: on to its next page, and back to the first.
import type { Page } from '../../core/paging.ts';
import { type Html, html } from '../../html/html.ts';
import { idOf, type LinkedKind } from './links.ts';

export type ListPlace = { readonly path: string; readonly query: URLSearchParams };

export function pageLinks(
  { path, query }: ListPlace,
  kind: LinkedKind,
  { items, hasMore }: Page<{ readonly id: string }>,
): Html | undefined {
  const last = items.at(-1);
  const isFirst = !query.has('after');
  if (isFirst && !hasMore) return undefined;
  const first = new URLSearchParams(query);
  first.delete('after');
  const next = new URLSearchParams(query);
  if (last !== undefined) next.set('after', idOf(kind, last.id));
  return html`<nav class="pages" aria-label="Pages of this list"><ul>
${isFirst ? undefined : html`<li><a href="${path}${asQuery(first)}">First page</a></li>`}
${hasMore && last !== undefined ? html`<li><a rel="next" href="${path}${asQuery(next)}">Next page</a></li>` : undefined}
</ul></nav>`;
}

type Choice = { readonly text: string; readonly value: string | undefined };

/** One of several values of a filter; the rest of the address stays, but for the place in the list. */
export const choices = ({ path, query }: ListPlace, name: string, label: string, values: readonly Choice[]): Html =>
  html`<nav class="choices" aria-label="${label}"><ul>${values.map(({ text, value }) => {
    const chosen = new URLSearchParams(query);
    chosen.delete('after');
    chosen.delete(name);
    if (value !== undefined) chosen.set(name, value);
    const isCurrent = (query.get(name) ?? undefined) === value;
    return html`<li><a href="${path}${asQuery(chosen)}"${isCurrent ? html` aria-current="true"` : undefined}>${text}</a></li>`;
  })}</ul></nav>`;

const asQuery = (query: URLSearchParams): string => (query.size === 0 ? '' : `?${query}`);
