/*
 * Sections of `~/.pg_service.conf` and `~/.my.cnf`:
 *   [name]
 *   key=value
 * Files of users, with whatever else they wrote there. Text holds one character for each byte (latin1), so that every byte survives. Comments, empty
 * lines and `!include` lines stay even within a section of ours: they may belong to the section below.
 */

export interface Section {
  readonly name: string;
  /** `key=value` each, without line ends. */
  readonly lines: readonly string[];
}

const header = /^[ \t]*\[([^\]\r\n]*)\]/;
const notOurs = /^\s*(?:[#;!]|$)/;

/** Writes these sections in the place of those with the same names, or at the end. Pure. */
export function putSections(text: string, sections: readonly Section[]): string {
  return sections.reduce((before, section) => replaced(before, section.name, render(section)), text);
}

/** Removes the sections of these names. Pure. */
export function removeSections(text: string, names: readonly string[]): string {
  return names.reduce((before, name) => replaced(before, name, ""), text);
}

function replaced(text: string, name: string, block: string): string {
  const kept: string[] = [];
  let isInside = false;
  let isPlaced = block === "";
  for (const line of linesOf(text)) {
    const found = header.exec(line)?.[1];
    if (found !== undefined) isInside = found === name;
    if (!isInside || (found === undefined && notOurs.test(line))) kept.push(line);
    else if (found !== undefined && !isPlaced) {
      kept.push(block);
      isPlaced = true;
    }
  }
  const result = kept.join("");
  if (isPlaced) return result;
  return `${result}${result === "" || result.endsWith("\n") ? "" : "\n"}${block}`;
}

function render({ name, lines }: Section): string {
  return Buffer.from(`[${name}]\n${lines.map((line) => `${line}\n`).join("")}`).toString("latin1");
}

/** Lines with their ends. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
