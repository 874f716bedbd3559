// The style of the documentation page; it stands in the page itself and is named by its hash in the policy.
import { theme } from '../html/theme.ts';

export const style = `${theme}
body { margin: 0 auto; padding: 1rem; max-width: 60rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
h1 { margin-bottom: 0; }
h2 { margin: 2.5rem 0 .5rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
nav ul { padding: 0; columns: 14rem; list-style: none; }
code, pre { font: .875rem/1.5 ui-monospace, monospace; background: var(--code); border-radius: 4px; }
code { padding: .1rem .3rem; overflow-wrap: anywhere; }
pre { padding: .75rem; overflow-x: auto; }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: 6px; }
details > div { padding: 0 .75rem .75rem; }
summary { padding: .6rem .75rem; cursor: pointer; overflow-wrap: anywhere; }
summary b { display: inline-block; min-width: 4.5rem; }
.soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .35rem .5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td:last-child { min-width: 12rem; }
td:first-child code { white-space: nowrap; }
@media (max-width: 40rem) {
  h1 { font-size: 1.5rem; }
  table, tbody, tr, td { display: block; }
  tr { padding: .35rem 0; border-bottom: 1px solid var(--line); }
  td { padding: .1rem 0; border: 0; }
  td:first-child code { white-space: normal; }
}
`;
