// Where each thing has its page: the paths of /v1 below /ui.
import { formatId } from '../../core/ids.ts';
import { objectKinds } from '../../core/object-kinds.ts';
import { searchedKinds } from '../../core/search.ts';
import { type Html, html } from '../../html/html.ts';

export type LinkedKind = (typeof searchedKinds)[number];

const collections: Readonly<Record<LinkedKind, string>> = {
  signing_cert: '/ui/signing_certs',
  directory: '/ui/directories',
  acme_key: '/ui/acme_keys',
  order: '/ui/orders',
  issued_cert: '/ui/issued_certs',
};

export const idOf = (kind: LinkedKind, uuid: string): string => formatId(objectKinds[kind].prefix, uuid);

export const pathOf = (kind: LinkedKind, uuid: string): string => `${collections[kind]}/${idOf(kind, uuid)}`;

export const linkTo = (kind: LinkedKind, uuid: string, text?: Html | string): Html =>
  html`<a href="${pathOf(kind, uuid)}">${text ?? html`<code>${idOf(kind, uuid)}</code>`}</a>`;

/** A list, filtered by what has these uuids or values. Empty ones are left out. */
export function listPath(
  kind: LinkedKind,
  filter: Readonly<Partial<Record<LinkedKind, string | undefined>>>,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  const query = new URLSearchParams();
  for (const name of searchedKinds) {
    const uuid = filter[name];
    if (uuid !== undefined) query.set(`${name}_id`, idOf(name, uuid));
  }
  for (const [name, value] of Object.entries(more)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? collections[kind] : `${collections[kind]}?${query}`;
}
