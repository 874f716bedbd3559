// What a page says about one thing: names and values, one below the other.
import { type Html, html } from '../../html/html.ts';

export type FieldRow = readonly [name: string, value: Html | string | number | undefined];

/** What has no value is left out. */
export const fields = (rows: readonly FieldRow[]): Html =>
  html`<dl class="fields">${rows
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`)}</dl>`;

/** Something to copy as it is: an id, a serial number, a URL. */
export const code = (text: string | undefined): Html | undefined =>
  text === undefined || text === '' ? undefined : html`<code>${text}</code>`;

/** Names, addresses, patterns: each whole, so that none is taken for two. */
export const list = (values: readonly string[]): Html | undefined =>
  values.length === 0
    ? undefined
    : html`<ul class="values">${values.map((value) => html`<li><code>${value}</code></li>`)}</ul>`;

/** Short ones, side by side. */
export const words = (values: readonly string[]): Html =>
  html`${values.map((value, index) => html`${index === 0 ? '' : ', '}<code>${value}</code>`)}`;

const FEW = 3;

/** The first few of them, and how many more there are. */
export const few = (values: readonly string[]): Html => {
  const rest = values.length - FEW;
  const shown = values
    .slice(0, FEW)
    .map((value, index) => html`${index === 0 ? '' : ', '}<span class="name">${value}</span>`);
  return html`${shown}${rest > 0 ? html` <span class="soft">and ${rest} more</span>` : undefined}`;
};

/** A text to copy, which opens when it is wanted. */
export const folded = (title: string, text: string): Html =>
  html`<details><summary>${title}</summary><pre tabindex="0">${text}</pre></details>`;
