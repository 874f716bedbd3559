// The CA certs as a tree, with their ends and the age of their CRLs.
import { type CaNode, type CaTree, type CaUse, getCaTree, type ShownCa } from '../../core/ca-tree.ts';
import { type Html, html } from '../../html/html.ts';
import type { Show } from '../page.ts';
import { badge, toned } from '../parts/badges.ts';
import { noCaYet } from '../parts/first-steps.ts';
import { caTone, ending, type Tone } from '../parts/life.ts';
import { linkTo } from '../parts/links.ts';
import { table } from '../parts/tables.ts';
import { day, none, when } from '../parts/times.ts';

export const showCaTree: Show = async ({ ca, now }) => {
  const tree = await getCaTree(ca);
  return { title: 'CA certs', body: html`${caTreeTable(tree, now)}${tree.hasMore ? more : undefined}` };
};

const more = html`<p class="soft">These are the newest 200. <code>GET /v1/signing_certs</code> lists all.</p>`;

export const caTreeTable = ({ nodes }: CaTree, now: Date): Html =>
  table({
    caption: 'CA certs, each below the one that signed it',
    rows: nodes,
    empty: noCaYet,
    columns: [
      { head: 'CA cert', cell: nameInTree },
      { head: 'State', cell: ({ state }) => badge(state) },
      { head: 'Key', cell: ({ keyType, keyAvailability }) => html`<code>${keyType}</code> ${keyAvailability}` },
      { head: 'Ends', cell: (node) => ending(node, now, toneOf(node, now)) },
      { head: 'CRL', cell: (node) => crlCell(node, now) },
      { head: 'Issues for', cell: ({ uses }) => usesCell(uses) },
    ],
  });

const DEEPEST = 6;

function nameInTree({ id, name, level, certType }: CaNode): Html {
  const text = name === '' ? undefined : html`<span class="name">${name}</span>`;
  return html`<span class="level l${Math.min(level, DEEPEST)}">${linkTo('signing_cert', id, text)}
<span class="soft">${certType}<span class="hidden">, level ${level}</span></span></span>`;
}

/** The end counts while it is in force alone. */
export const toneOf = (node: ShownCa, now: Date): Tone =>
  node.state === 'valid' || node.state === 'waiting' ? caTone(node, now) : 'off';

const HALF = 0.5;

export type CrlVerdict = { readonly tone: Tone; readonly text: string };

/** A CRL is made anew long before its half: one that is older has been failing to. */
export function crlVerdict({ crl, keyAvailability, state }: ShownCa, now: Date): CrlVerdict | undefined {
  if (crl === undefined)
    return keyAvailability === 'online' && state === 'valid' ? { tone: 'wait', text: 'not made yet' } : undefined;
  const { thisUpdate, nextUpdate } = crl;
  if (nextUpdate <= now) return { tone: 'bad', text: 'overdue' };
  const passed = (now.getTime() - thisUpdate.getTime()) / (nextUpdate.getTime() - thisUpdate.getTime());
  return passed > HALF ? { tone: 'wait', text: 'old' } : { tone: 'good', text: 'fresh' };
}

function crlCell(node: ShownCa, now: Date): Html {
  const verdict = crlVerdict(node, now);
  if (verdict === undefined) return none;
  const { crl } = node;
  return html`${toned(verdict.tone, verdict.text)}${crl && html` <span class="below">${when(crl.thisUpdate, now)}</span>`}`;
}

function usesCell(uses: readonly CaUse[]): Html {
  if (uses.length === 0) return none;
  return html`<ul class="plain">${uses.map(
    ({ directoryId, slug, use, rolloverAt }) =>
      html`<li>${linkTo('directory', directoryId, slug)}${
        use === 'former'
          ? html` <span class="soft">until ${rolloverAt === undefined ? 'its rollover' : day(rolloverAt)}</span>`
          : undefined
      }</li>`,
  )}</ul>`;
}
