// The style sheet of /ui: the frame of a page, and what stands in it. No fonts, no pictures, nothing from elsewhere.
import { theme } from '../../html/theme.ts';
import { narrow, paper } from './media.ts';
import { tables } from './tables.ts';

const frame = `
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 78rem; padding: 0 1.25rem 2rem; font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; color: var(--text); background: var(--back); font-variant-numeric: tabular-nums; }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h1 { margin: 1.5rem 0 1rem; font-size: 1.625rem; font-weight: 650; letter-spacing: -.01em; }
h2 { margin: 2.25rem 0 .75rem; font-size: 1.1875rem; font-weight: 650; }
h3 { margin: 0 0 .5rem; font-size: 1rem; font-weight: 650; }
main, footer { overflow-wrap: anywhere; }
p { margin: .5rem 0; max-width: 70ch; }
a { text-underline-offset: .15em; text-decoration-thickness: 1px; text-decoration-color: color-mix(in srgb, currentColor 45%, transparent); }
a:hover { text-decoration-color: currentColor; text-decoration-thickness: 2px; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em; }
code { overflow-wrap: anywhere; }
pre { margin: .5rem 0; color: var(--text); padding: .75rem 1rem; overflow-x: auto; line-height: 1.5; background: var(--code); border: 1px solid var(--line); border-radius: 6px; }
details { margin: .5rem 0; }
summary { padding: .35rem 0; cursor: pointer; color: var(--mark); }
ul { padding-left: 1.25rem; }
.soft, .exact { color: var(--soft); }
.name, .values code, .below { overflow-wrap: anywhere; unicode-bidi: isolate; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: 1rem; top: -4rem; padding: .5rem 1rem; background: var(--back); border: 2px solid var(--mark); border-radius: 6px; z-index: 1; }
.skip:focus { top: .5rem; }
.lead { font-size: 1.125rem; }
`;

const top = `
header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.5rem; padding: .75rem 0; border-bottom: 1px solid var(--line); }
.brand { margin: 0; font-weight: 700; font-size: 1.0625rem; letter-spacing: -.01em; }
.brand a { color: inherit; text-decoration: none; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem; margin: 0; padding: 0; list-style: none; }
header nav a, .choices a, .pages a { display: inline-block; padding: .3rem .65rem; border-radius: 6px; text-decoration: none; }
header nav a { color: var(--text); }
header nav a:hover, .choices a:hover { background: var(--panel); }
[aria-current] { background: var(--panel); font-weight: 600; box-shadow: inset 0 -2px 0 var(--mark); }
.choices { margin: 0 0 1rem; }
.pages { margin: 1rem 0; }
.pages a { border: 1px solid var(--edge); }
.search { display: flex; flex: 1 1 16rem; gap: .35rem; margin-left: auto; max-width: 26rem; }
.search input { flex: 1; min-width: 0; }
input, button { font: inherit; color: inherit; border-radius: 6px; }
input { padding: .35rem .65rem; background: var(--back); border: 1px solid var(--edge); }
input::placeholder { color: var(--soft); opacity: 1; }
button { padding: .35rem .85rem; background: var(--panel); border: 1px solid var(--edge); cursor: pointer; }
button:hover { border-color: var(--mark); }
.who { display: flex; flex: 1 1 100%; align-items: center; justify-content: flex-end; flex-wrap: wrap; gap: .25rem .75rem; font-size: .8125rem; color: var(--soft); }
.who button { padding: .15rem .6rem; color: var(--text); }
.actor { overflow-wrap: anywhere; }
footer { margin-top: 3rem; padding-top: .75rem; border-top: 1px solid var(--line); font-size: .8125rem; color: var(--soft); }
.sign-in { max-width: 38rem; }
.sign-in label { display: block; margin-bottom: .25rem; font-weight: 600; }
.sign-in input { width: 100%; padding: .55rem .75rem; }
.sign-in button { padding: .5rem 1.5rem; font-weight: 600; color: var(--back); background: var(--mark); border-color: var(--mark); }
`;

const things = `
.badge { display: inline-block; padding: .05rem .5rem; border: 1px solid currentColor; border-radius: 999px; font-size: .8125rem; line-height: 1.4; white-space: nowrap; }
.good { --tone: var(--good); --tone-back: var(--good-back); }
.wait { --tone: var(--wait); --tone-back: var(--wait-back); }
.bad { --tone: var(--bad); --tone-back: var(--bad-back); }
.off { --tone: var(--off); --tone-back: var(--off-back); }
.badge { color: var(--tone); background: var(--tone-back); border-color: color-mix(in srgb, var(--tone) 35%, transparent); }
.notice { margin: 1rem 0; padding: .75rem 1rem; max-width: none; background: var(--tone-back); border-left: 4px solid var(--tone); border-radius: 0 6px 6px 0; }
.notice h2 { margin: 0 0 .25rem; font-size: 1rem; color: var(--tone); }
.notice ul { margin: .25rem 0; }
.notice.good { background: none; border-left-width: 0; padding-left: 0; color: var(--soft); }
.problem { margin: .25rem 0; }
.problem p { margin: .25rem 0; overflow-wrap: anywhere; max-width: 90ch; }
.problem ul { margin: .25rem 0; }
.problem li { margin: .25rem 0; overflow-wrap: anywhere; max-width: 90ch; }
.fields { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; margin: 1rem 0; }
.fields > div { display: grid; grid-template-columns: subgrid; grid-column: 1 / -1; gap: 1.5rem; padding: .4rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; unicode-bidi: isolate; }
.values, .plain, .found { margin: 0; padding: 0; list-style: none; }
.life { display: block; width: 100%; max-width: 9rem; height: 4px; margin-top: .3rem; border-radius: 2px; overflow: hidden; }
.life .whole { fill: var(--line); }
.life .passed { fill: var(--tone); }
.empty { margin: 1rem 0; padding: .25rem 1rem; color: var(--soft); background: var(--panel); border-radius: 6px; }
.empty p { max-width: 75ch; }
p.empty { padding: .75rem 1rem; max-width: none; }
.counts { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: .75rem; margin: 1rem 0; padding: 0; list-style: none; }
.counts li { padding: .6rem .9rem; color: var(--soft); background: var(--panel); border-radius: 6px; font-size: .875rem; }
.counts b { display: block; font-size: 1.375rem; font-weight: 600; line-height: 1.3; color: var(--text); }
.counts .alarm b, .counts .alarm a, td .alarm a { color: var(--bad); }
.card { margin: .75rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 6px; }
.challenges > li + li { margin-top: .5rem; padding-top: .5rem; border-top: 1px solid var(--line); }
.scope { max-width: none; }
`;

export const style = [theme, frame, top, things, tables, narrow, paper].join('');
