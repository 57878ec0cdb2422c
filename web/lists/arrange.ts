/** A column by which rows are sorted: numbers by size, texts as people sort names (`web-9` before `web-10`). */
export interface SortKey<Row> {
  readonly id: string;
  of(row: Row): string | number;
}

export interface Order {
  readonly id: string;
  readonly down: boolean;
}

const names = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** The rows in the order of one column. The same rows come in the same order again: equal ones keep theirs. Pure. */
export function sortRows<Row>(rows: readonly Row[], keys: readonly SortKey<Row>[], order: Order): readonly Row[] {
  const key = keys.find(({ id }) => id === order.id);
  if (key === undefined) return rows;
  const sign = order.down ? -1 : 1;
  const keyed = rows.map((row) => ({ row, value: key.of(row) }));
  const isNumeric = keyed.every(({ value }) => typeof value === "number");
  const compare = isNumeric ? byNumber : byName;
  return keyed.sort((a, b) => sign * compare(a.value, b.value)).map(({ row }) => row);
}

function byNumber(a: string | number, b: string | number): number {
  return Number(a) - Number(b);
}

function byName(a: string | number, b: string | number): number {
  return names.compare(String(a), String(b));
}

/** A row with the text in which words are searched, made once. */
export interface Searchable<Row> {
  readonly row: Row;
  readonly text: string;
}

export function makeSearchable<Row>(rows: readonly Row[], textOf: (row: Row) => string): readonly Searchable<Row>[] {
  return rows.map((row) => ({ row, text: textOf(row).toLowerCase() }));
}

/** The rows in which every word occurs, in any case and anywhere. Pure. */
export function searchRows<Row>(rows: readonly Searchable<Row>[], search: string): readonly Row[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found = words.length === 0 ? rows : rows.filter(({ text }) => words.every((word) => text.includes(word)));
  return found.map(({ row }) => row);
}

/** Labels as people type them: `env=prod team=web`. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(" ");
}
