import { printable } from "./output.ts";

/**
 * Header, a line of dashes, rows; columns are as wide as their longest cell, one space apart, without trailing spaces.
 * A cell that would need more than `maxCell` characters is cut with an ellipsis (Infinity: never).
 */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[], maxCell = Number.POSITIVE_INFINITY): string {
  const cells = rows.map((row) => header.map((_title, index) => clip(oneLine(row[index] ?? ""), maxCell)));
  const widths = header.map((title, index) => Math.max(title.length, ...cells.map((row) => length(row[index] ?? ""))));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => cell + " ".repeat((widths[index] ?? 0) - length(cell)))
      .join(" ")
      .trimEnd();
  return [line(header), widths.map((width) => "-".repeat(width)).join(" "), ...cells.map(line)].join("\n");
}

/** `Name:   value` lines, with aligned values. */
export function renderFacts(facts: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...facts.map(([name]) => name.length)) + 2;
  return facts.map(([name, value]) => `${`${name}:`.padEnd(width)}${oneLine(value)}`.trimEnd()).join("\n");
}

/** `a=1,b=2` in the order of the keys. */
export function renderLabels(labels: Readonly<Record<string, string>> | undefined): string {
  return Object.keys(labels ?? {})
    .sort()
    .map((key) => `${key}=${labels?.[key] ?? ""}`)
    .join(",");
}

function oneLine(text: string): string {
  return printable(text.replace(/[\r\n\t]+/g, " "));
}

function clip(text: string, max: number): string {
  return length(text) <= max ? text : `${[...text].slice(0, max - 1).join("")}…`;
}

function length(text: string): number {
  return [...text].length;
}
