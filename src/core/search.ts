// What a person may look for in one field: an id, a serial number, a thumbprint, a slug, a name or an address. Each is
// found by an index or not at all; nothing here reads through a table.
import { findSlugHolder } from '../store/directory-slugs.ts';
import { findKeyUse } from '../store/used-keys.ts';
import type { Ca } from './ca.ts';
import { type ListedCert, listCertsFor, listCertsOfKey, listCertsOfSerial } from './cert-report.ts';
import { parseId } from './ids.ts';
import { parseSerial, parseSubject } from './issued-cert-filters.ts';
import { objectKinds } from './object-kinds.ts';
import type { PagePlace } from './order-report.ts';
import type { Page } from './paging.ts';

/** What has an id that can be looked for. */
export const searchedKinds = ['signing_cert', 'directory', 'acme_key', 'order', 'issued_cert'] as const;

export type Found = {
  /** The text is an id of this kind. Whether there is such a thing is not looked at. */
  readonly object: { readonly kind: (typeof searchedKinds)[number]; readonly id: string } | undefined;
  /** A directory that has this slug. */
  readonly directoryId: string | undefined;
  /** The account whose key is, or once was, that of this thumbprint. */
  readonly acmeKeyId: string | undefined;
  readonly certs: Page<ListedCert>;
  /** As what the text was read. */
  readonly readAs: readonly ('serial' | 'thumbprint' | 'slug' | 'subject')[];
};

const nothing: Found = {
  object: undefined,
  directoryId: undefined,
  acmeKeyId: undefined,
  certs: { items: [], hasMore: false },
  readAs: [],
};

const SERIAL = /^(?:[0-9a-f]{2}(?::[0-9a-f]{2}){1,20}|[0-9a-f]{8,42})$/i;
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;
const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Throws `unknown_cursor`. */
export async function search(ca: Ca, text: string, place: PagePlace): Promise<Found> {
  const object = objectOf(text);
  if (object !== undefined) return { ...nothing, object };
  if (THUMBPRINT.test(text)) return byThumbprint(ca, Buffer.from(text, 'base64url'));
  const serial = SERIAL.test(text) ? await listCertsOfSerial(ca, parseSerial(text)) : undefined;
  if (serial !== undefined && serial.items.length > 0) return { ...nothing, readAs: ['serial'], certs: serial };
  const subject = parseSubject(text);
  const [holder, certs] = await Promise.all([
    SLUG.test(text) ? findSlugHolder(ca.database.db, text) : undefined,
    subject.ok ? listCertsFor(ca, subject.value, place) : nothing.certs,
  ]);
  return {
    ...nothing,
    directoryId: holder?.is_deleted === false ? holder.directory_id : undefined,
    certs,
    readAs: [
      ...(serial === undefined ? [] : (['serial'] as const)),
      ...(SLUG.test(text) ? (['slug'] as const) : []),
      ...(subject.ok ? (['subject'] as const) : []),
    ],
  };
}

async function byThumbprint(ca: Ca, thumbprint: Buffer): Promise<Found> {
  const [use, certs] = await Promise.all([findKeyUse(ca.database.db, thumbprint), listCertsOfKey(ca, thumbprint)]);
  return { ...nothing, readAs: ['thumbprint'], acmeKeyId: use?.acme_key_id ?? undefined, certs };
}

function objectOf(text: string): Found['object'] {
  for (const kind of searchedKinds) {
    const id = parseId(objectKinds[kind].prefix, text);
    if (id !== undefined) return { kind, id };
  }
  return undefined;
}
