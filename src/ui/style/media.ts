// The same pages on a phone and on paper. Nothing moves anywhere, so there is nothing to still for who wants less motion.

export const narrow = `
@media (max-width: 46rem) {
  body { padding: 0 1rem 2rem; }
  h1 { font-size: 1.375rem; }
  header { gap: .5rem .75rem; }
  header nav { flex: 1 1 100%; order: 3; }
  header nav ul { margin: 0 -.65rem; }
  .search { order: 2; flex: 1 1 100%; max-width: none; margin: 0; }
  .who { order: 4; justify-content: space-between; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, tbody th, tbody td, caption { display: block; }
  tbody tr { margin: 0 0 .75rem; padding: .6rem .85rem; border: 1px solid var(--line); border-radius: 6px; }
  tbody th, tbody td, .number { padding: .15rem 0; border: 0; text-align: left; }
  tbody td:has(> div:empty), tbody td:has(> div > .none:only-child) { display: none; }
  tbody td { display: grid; grid-template-columns: 7rem 1fr; gap: .75rem; }
  tbody td::before { content: attr(data-head); color: var(--soft); font-size: .8125rem; line-height: 1.7; }
  tbody td > div { min-width: 0; }
  td .exact, td .below { display: inline; }
  td .below { margin-left: .35rem; }
  td time { white-space: normal; }
  tbody th { padding-bottom: .35rem; font-weight: 600; }
  .reason { min-width: 0; }
  .serial { max-width: 100%; }
  .fields { display: block; }
  .fields > div { display: block; }
  dt { font-size: .8125rem; }
}
`;

export const paper = `
@media print {
  :root { --text: #000; --soft: #333; --line: #bbb; --edge: #666; --back: #fff; --panel: #fff; --code: #fff; --mark: #000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  header nav, .search, .who, .skip, .pages, .choices { display: none; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  tr, .card, .fields > div { break-inside: avoid; }
  thead { display: table-header-group; }
  a { color: inherit; text-decoration: none; }
}
`;
