import { shellWord } from "./size.ts";

/** What a reader sees as it is: ASCII, letters, digits, punctuation and symbols. Marks, which draw over a neighbour, spaces of other widths and controls are not among them. */
const seen = /^[ -~\p{L}\p{N}\p{P}\p{S}]$/u;
/** Letters and symbols that show nothing. */
const blank = /^[\p{Default_Ignorable_Code_Point}\u2800]$/u;

/** A word of a command line in which nothing hides, quoted for a shell; `$'…'` names characters that a reader would not see. Pure. */
export function visibleWord(text: string): string {
  if (text === "") return "''";
  const characters = [...text];
  if (characters.every(isSeen)) return shellWord(text);
  return `$'${characters.map((one) => (isSeen(one) ? one.replace(/['\\]/, "\\$&") : escaped(one))).join("")}'`;
}

function isSeen(character: string): boolean {
  return seen.test(character) && !blank.test(character);
}

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return short[character] ?? (code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`);
}
