import { isMap, isScalar, isSeq, type Pair, type ParsedNode, type YAMLMap } from "yaml";
import type { KubeconfigEdit, ListEdit } from "./kubeconfig-edit.ts";
import { listNames, type ParsedKubeconfig } from "./parse-kubeconfig.ts";
import { renderEntry, renderScalar } from "./render-entry.ts";

/*
 * Edits of the text itself, by the positions of its nodes, so that every other byte stays:
 *   clusters:           <- after this line, where the list is empty
 *   - cluster: …        <- whole lines of an entry go, or are replaced
 *     name: mine
 *                       <- after the last line of the last entry
 */

type RootPair = Pair<ParsedNode, ParsedNode | null>;

/** Replaces the bytes from `start` to `end`. */
interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The changed text; undefined for a style in which entries do not have lines of their own. */
export function spliceKubeconfig(text: string, { document }: ParsedKubeconfig, edit: KubeconfigEdit): string | undefined {
  const { contents } = document;
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const isBlock = isMap(contents) && contents.srcToken?.type === "block-map";
  if (
    !isBlock &&
    text
      .replace(/^\ufeff/, "")
      .replaceAll(/^[ \t]*(#.*)?$/gm, "")
      .trim() !== ""
  )
    return undefined;
  const root = isBlock ? contents : undefined;
  const splices: Splice[] = [];
  const added: string[] = root === undefined ? ["apiVersion: v1\nkind: Config\n"] : [];
  for (const list of listNames) {
    const change = edit.lists[list];
    if (change.remove.length === 0 && change.replace.size === 0 && change.append.length === 0) continue;
    const pair = pairOf(root, list);
    if (pair === undefined) added.push(`${list}:\n${change.append.map((entry) => renderEntry(entry, 0)).join("")}`);
    else {
      const own = listSplices(text, pair, change);
      if (own === undefined) return undefined;
      splices.push(...own);
    }
  }
  if (edit.currentContext !== undefined) {
    const line = `current-context: ${renderScalar(edit.currentContext)}`;
    const pair = pairOf(root, "current-context");
    if (pair === undefined) added.push(`${line}\n`);
    else {
      const place = valuePlace(pair);
      if (place === undefined) return undefined;
      splices.push({ ...place, text: ` ${renderScalar(edit.currentContext)}` });
    }
  }
  if (added.length > 0) {
    const end = root === undefined ? text.length : endOfLine(text, contentEnd(root));
    splices.push({ start: end, end, text: `${startsLine(text, end) ? "" : "\n"}${added.join("")}` });
  }
  return applySplices(text, splices, newline);
}

function pairOf(root: YAMLMap.Parsed | undefined, name: string): RootPair | undefined {
  return root?.items.find(({ key }) => isScalar(key) && key.value === name);
}

/** Undefined for a list in flow style. */
function listSplices(text: string, pair: RootPair, { remove, replace, append }: ListEdit): readonly Splice[] | undefined {
  const { value } = pair;
  const entries = isSeq(value) ? value.items : [];
  if (entries.length === 0) return emptyListSplices(text, pair, append.map((entry) => renderEntry(entry, 0)).join(""));
  const places = entryPlaces(text, value);
  const last = places?.at(-1);
  if (places === undefined || last === undefined) return undefined;
  const { indent } = last;
  const splices: Splice[] = [];
  for (const [index, { start, end }] of places.entries()) {
    const fresh = replace.get(index);
    if (fresh !== undefined) splices.push({ start, end, text: renderEntry(fresh, indent) });
    else if (remove.includes(index)) splices.push({ start, end, text: "" });
  }
  const rendered = append.map((entry) => renderEntry(entry, indent)).join("");
  if (rendered !== "") splices.push({ start: last.end, end: last.end, text: `${startsLine(text, last.end) ? "" : "\n"}${rendered}` });
  if (remove.length === places.length && append.length === 0) {
    const colon = afterColon(pair);
    if (colon === undefined) return undefined;
    splices.push({ start: colon, end: colon, text: " []" });
  }
  return splices;
}

/** `name:`, `name: null` and `name: []` get lines below; a comment behind stays there. */
function emptyListSplices(text: string, pair: RootPair, rendered: string): readonly Splice[] | undefined {
  const place = valuePlace(pair);
  if (place === undefined) return undefined;
  if (rendered === "") return [{ ...place, text: " []" }];
  const end = endOfLine(text, place.end);
  return [
    { ...place, text: "" },
    { start: end, end, text: `${startsLine(text, end) ? "" : "\n"}${rendered}` },
  ];
}

interface EntryPlace {
  /** Start of the entry's first line, and of the line after its last one. */
  readonly start: number;
  readonly end: number;
  /** Columns before the dash. */
  readonly indent: number;
}

/** Undefined: an entry shares a line with something else. */
function entryPlaces(text: string, list: ParsedNode | null): readonly EntryPlace[] | undefined {
  if (!isSeq(list) || list.srcToken?.type !== "block-seq") return undefined;
  const places: EntryPlace[] = [];
  for (const [index, token] of list.srcToken.items.entries()) {
    const dash = token.start.find(({ type }) => type === "seq-item-ind");
    const node = list.items[index] as ParsedNode | undefined;
    if (dash === undefined || node === undefined) return undefined;
    const start = text.lastIndexOf("\n", dash.offset - 1) + 1;
    if (text.slice(start, dash.offset).trim() !== "") return undefined;
    places.push({ start, end: endOfLine(text, contentEnd(node)), indent: dash.offset - start });
  }
  return places.length === list.items.length ? places : undefined;
}

/** From behind the colon to the end of a value that stands on one line. */
function valuePlace(pair: RootPair): Pick<Splice, "start" | "end"> | undefined {
  const start = afterColon(pair);
  if (start === undefined) return undefined;
  const [from, to] = pair.value?.range ?? [start, start];
  // Nothing but the colon: what stands behind is a comment.
  return { start, end: from === to ? start : to };
}

function afterColon(pair: RootPair): number | undefined {
  const colon = pair.srcToken?.sep?.find(({ type }) => type === "map-value-ind");
  return colon === undefined ? undefined : colon.offset + 1;
}

/** Where the last scalar of a node ends: comments behind it belong to what follows. */
function contentEnd(node: ParsedNode): number {
  if (isMap(node) && node.srcToken?.type === "block-map") {
    const last = node.items.at(-1);
    const [key, value] = [last?.key, last?.value];
    return Math.max(key ? contentEnd(key) : 0, value ? contentEnd(value as ParsedNode) : 0);
  }
  if (isSeq(node) && node.srcToken?.type === "block-seq") {
    const last = node.items.at(-1) as ParsedNode | undefined;
    if (last !== undefined) return contentEnd(last);
  }
  return node.range[1];
}

/** Start of the next line; a position at the start of a line stays. */
function endOfLine(text: string, position: number): number {
  if (startsLine(text, position)) return position;
  const found = text.indexOf("\n", position);
  return found < 0 ? text.length : found + 1;
}

function startsLine(text: string, position: number): boolean {
  return position === 0 || text[position - 1] === "\n" || (position === 1 && text[0] === "\ufeff");
}

/** Those of the same position stay in their order. */
function applySplices(text: string, splices: readonly Splice[], newline: string): string {
  const ordered = splices.map((splice, index) => ({ ...splice, index })).sort((a, b) => a.start - b.start || a.index - b.index);
  let result = "";
  let at = 0;
  for (const { start, end, text: fresh } of ordered) {
    result += text.slice(at, start) + fresh.replaceAll("\n", newline);
    at = Math.max(at, end);
  }
  return result + text.slice(at);
}
