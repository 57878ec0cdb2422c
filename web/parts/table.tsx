import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Order, sortRows } from "../lists/arrange.ts";
import { type RowWindow, windowOf } from "../lists/window-of.ts";

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  cell(row: Row): ComponentChildren;
  /** By what it is sorted; left out: it is not. */
  readonly by?: (row: Row) => string | number;
  /** Left out where the page is narrow. */
  readonly wide?: boolean;
  /** Share of the width, beside the others; default 2. */
  readonly share?: number;
  /** The same where the page is narrow, percent; default 40 for the first column, and what is left in equal parts for the others. */
  readonly narrow?: number;
}

export interface TableFacts<Row> {
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  keyOf(row: Row): string;
  /** Order at the beginning. */
  readonly order: Order;
  /** What is shown of a row: its present state, where the rows are held as they were; left out: the row. */
  readonly nowOf?: ((row: Row) => Row) | undefined;
}

/** Height of a row, px; the style has it too. */
const rowHeight = 44;

/** A table of any length: only the rows near the visible part of the page are drawn. */
export function Table<Row>({ caption, columns, rows, keyOf, order: first, nowOf = (row) => row }: TableFacts<Row>) {
  const [order, setOrder] = useState(first);
  const body = useRef<HTMLTableSectionElement>(null);
  const keys = columns.flatMap(({ id, by }) => (by === undefined ? [] : [{ id, of: by }]));
  // Each draw makes columns, and they are the same.
  const sorted = useMemo(() => sortRows(rows, keys, order), [rows, order]);
  const { from, to } = useWindow(body, sorted.length);
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row does not take the focus
  const gap = (count: number) => count > 0 && <tr class="gap" aria-hidden="true" style={{ height: `${count * rowHeight}px` }} />;
  return (
    <table aria-rowcount={sorted.length + 1}>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr aria-rowindex={1}>
          {columns.map((column) => (
            <Heading key={column.id} column={column} order={order} choose={setOrder} total={columns} />
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {gap(from)}
        {sorted.slice(from, to).map((row, at) => (
          <tr key={keyOf(row)} aria-rowindex={from + at + 2}>
            {columns.map((column, place) => (
              <Cell key={column.id} column={column} row={nowOf(row)} isFirst={place === 0} />
            ))}
          </tr>
        ))}
        {gap(sorted.length - to)}
      </tbody>
    </table>
  );
}

function Cell<Row>({ column, row, isFirst }: { readonly column: Column<Row>; readonly row: Row; readonly isFirst: boolean }) {
  const wide = column.wide === true ? "only-wide" : "";
  return isFirst ? (
    <th scope="row" class={wide}>
      {column.cell(row)}
    </th>
  ) : (
    <td class={wide}>{column.cell(row)}</td>
  );
}

interface HeadingFacts<Row> {
  readonly column: Column<Row>;
  readonly order: Order;
  choose(order: Order): void;
  readonly total: readonly Column<Row>[];
}

/** A heading that sorts: once up, once more down. */
function Heading<Row>({ column: { id, title, by, wide, share = 2, narrow }, order, choose, total }: HeadingFacts<Row>) {
  const isChosen = order.id === id;
  const all = total.reduce((sum, column) => sum + (column.share ?? 2), 0);
  const style = { "--share": `${(share / all) * 100}%`, ...(narrow !== undefined && { "--narrow": `${narrow}%` }) };
  const look = { scope: "col", class: wide === true ? "only-wide" : "", style } as const;
  if (by === undefined) return <th {...look}>{title}</th>;
  return (
    <th {...look} aria-sort={isChosen ? (order.down ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={() => choose({ id, down: isChosen && !order.down })}>
        {title}
        <span class="arrow" aria-hidden="true">
          {isChosen ? (order.down ? "▾" : "▴") : ""}
        </span>
      </button>
    </th>
  );
}

/** The rows to draw, as the page scrolls. */
function useWindow(body: { readonly current: HTMLElement | null }, count: number): RowWindow {
  const [window, setWindow] = useState<RowWindow>(() => windowOf({ count, rowHeight, above: 0, visible: 1000 }));
  useEffect(() => {
    const look = (): void => {
      const above = -(body.current?.getBoundingClientRect().top ?? 0);
      const next = windowOf({ count, rowHeight, above, visible: innerHeight });
      setWindow((before) => (before.from === next.from && before.to === next.to ? before : next));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look, { passive: true });
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [body, count]);
  return { from: Math.min(window.from, count), to: Math.min(window.to, count) };
}
