// What a list is limited to, with the way back to all.
import { type Html, html } from '../../html/html.ts';
import { type LinkedKind, linkTo } from './links.ts';
import type { ListPlace } from './next-page.ts';

const nouns: Readonly<Partial<Record<LinkedKind, string>>> = {
  directory: 'directory',
  acme_key: 'account key',
  signing_cert: 'CA cert',
};

export function scopeOf(
  ids: Readonly<Partial<Record<LinkedKind, string | undefined>>>,
  names: ReadonlyMap<string, string>,
  { path }: ListPlace,
): Html | undefined {
  const chosen = (['directory', 'acme_key', 'signing_cert'] as const).flatMap((kind) => {
    const id = ids[kind];
    return id === undefined ? [] : [html`${nouns[kind]} ${linkTo(kind, id, names.get(id))}`];
  });
  if (chosen.length === 0) return undefined;
  return html`<p class="scope">Only of ${chosen.map((part, index) => html`${index === 0 ? '' : ' and '}${part}`)}. <a href="${path}">Show all</a></p>`;
}
