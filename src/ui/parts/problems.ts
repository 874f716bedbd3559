// Why something failed, as the client was told: what was expected, what came, and the same for each name.
import { type Html, html } from '../../html/html.ts';

/** As the core keeps it. */
export type ShownProblem = {
  readonly type: string;
  readonly detail: string;
  readonly identifier?: { readonly type: string; readonly value: string };
  readonly subproblems?: readonly ShownProblem[];
};

/** Of several tries of one thing, which name nothing, the last one says what the whole does. */
export const problem = ({ type, detail, subproblems = [] }: ShownProblem): Html =>
  subproblems.length > 1 && subproblems.every(({ identifier }) => identifier === undefined)
    ? html`<ol class="problem">${subproblems.map(subproblem)}</ol>`
    : whole({ type, detail, subproblems });

const whole = ({ type, detail, subproblems = [] }: ShownProblem): Html => html`<div class="problem">
<p><code>${type}</code> ${detail}</p>
${
  // One that only says the same again tells nobody anything.
  subproblems.length === 0 || (subproblems.length === 1 && subproblems[0]?.detail === detail)
    ? undefined
    : html`<ul>${subproblems.map(subproblem)}</ul>`
}
</div>`;

const subproblem = ({ type, detail, identifier }: ShownProblem): Html =>
  html`<li>${identifier && html`<strong class="name">${identifier.value}</strong>: `}<code>${type}</code> ${detail}</li>`;

/** For a row of a list: the first sentence that says more than that there are several. */
export function reason({ type, detail, subproblems = [] }: ShownProblem): Html {
  const [first, ...others] = type === 'compound' ? subproblems : [];
  if (first === undefined) return html`<code>${type}</code> ${detail}`;
  return html`<code>${first.type}</code> ${first.detail}${others.length > 0 ? html` <span class="soft">and ${others.length} more</span>` : undefined}`;
}
