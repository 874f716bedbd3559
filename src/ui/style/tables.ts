// The style of tables: quiet lines, numbers under numbers.

export const tables = `
table { width: 100%; margin: .5rem 0 1rem; border-collapse: collapse; font-size: .9375rem; }
caption { padding: 0 0 .35rem; text-align: left; font-size: .8125rem; color: var(--soft); }
th, td { padding: .55rem .75rem .55rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { padding-top: .25rem; padding-bottom: .35rem; font-size: .8125rem; font-weight: 600; color: var(--soft); border-bottom-color: var(--edge); white-space: nowrap; }
tbody th { font-weight: 500; }
tbody th, tbody td { overflow-wrap: anywhere; unicode-bidi: isolate; }
tbody tr:hover { background: color-mix(in srgb, var(--panel) 60%, transparent); }
.number { text-align: right; }
th:last-child, td:last-child { padding-right: 0; }
td .exact, th .exact, .below { display: block; font-size: .8125rem; }
td time, td .badge { white-space: nowrap; }
th .below { font-weight: 400; }
.url { color: var(--soft); }
.serial { display: inline-block; max-width: 12ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; }
.reason { min-width: 14rem; max-width: 60ch; }
.level { display: block; }
.l2, .l3, .l4, .l5, .l6 { padding-left: 1.1rem; border-left: 2px solid var(--line); }
.l3 { margin-left: 1.1rem; } .l4 { margin-left: 2.2rem; } .l5 { margin-left: 3.3rem; } .l6 { margin-left: 4.4rem; }
`;
