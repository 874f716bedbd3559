// What a page is asked with, and what it gives.
import type { Ca } from '../core/ca.ts';
import type { Caller } from '../core/caller.ts';
import type { Html } from '../html/html.ts';

export type PageInput = {
  readonly ca: Ca;
  readonly caller: Caller;
  readonly now: Date;
  /** Of what the page is about; '' for lists. */
  readonly id: string;
  readonly query: URLSearchParams;
  readonly path: string;
};

type PageContent = {
  /** The title and first heading. */
  readonly title: string;
  readonly body: Html;
  /** In the search field. */
  readonly searched?: string;
};

/** Reads what it shows by functions of the core, and renders it. Throws what they throw. */
export type Show = (input: PageInput) => Promise<PageContent | { readonly location: string }>;
