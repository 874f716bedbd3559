// Tables: a caption, heads, rows. On a narrow screen each row becomes a card in which every cell names its column; the
// roles are written out, because a table that is laid out anew is otherwise none to a screen reader.
import { type Html, html } from '../../html/html.ts';

type Column<Row> = {
  readonly head: string;
  readonly cell: (row: Row) => Html | string | number;
  /** Numbers stand at the right. */
  readonly kind?: 'number';
};

export type Table<Row> = {
  readonly caption: string;
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** In the place of a table without rows. */
  readonly empty: Html;
  /** Of the row. */
  readonly className?: (row: Row) => string;
};

export function table<Row>({ caption, columns, rows, empty, className }: Table<Row>): Html {
  if (rows.length === 0) return html`<div class="empty">${empty}</div>`;
  const classOf = ({ kind }: Column<Row>): string => kind ?? '';
  const heads = columns.map(
    (column) => html`<th scope="col" role="columnheader" class="${classOf(column)}">${column.head}</th>`,
  );
  const cells = (row: Row): readonly Html[] =>
    columns.map((column, index) =>
      index === 0
        ? html`<th scope="row" role="rowheader" class="${classOf(column)}">${column.cell(row)}</th>`
        : html`<td role="cell" class="${classOf(column)}" data-head="${column.head}"><div>${column.cell(row)}</div></td>`,
    );
  return html`<table role="table"><caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`<tr role="row" class="${className?.(row)}">${cells(row)}</tr>\n`)}</tbody></table>`;
}
