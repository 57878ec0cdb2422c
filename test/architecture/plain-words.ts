/** Words and turns that a native speaker would not write here, each with what to write in their place (CONTRIBUTING.md, "Plain English"). */
const banned: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\btold\b/i, "reported, notified, logged, or the fact itself"],
  [/\banew\b/i, "again, or re-"],
  [/\bwhoever\b/i, "a noun: the user, the caller, the client"],
  [/(?<!\b[Tt]here )\b(?:is|are|was|were|be) no (?!longer\b|more than\b)/, "is not a"],
  [/(?:^|[.:;] |\/\*\* |\/\/ )Who [a-z]+ (?!.*\?)/, "a noun as the subject: the user who, a client that"],
];

interface UnplainText {
  readonly line: number;
  readonly text: string;
  readonly instead: string;
}

/** Comments and string literals of TypeScript, or a whole file of another kind, that hold such words. Headings of a page may ask. Pure. */
function unplainTexts(path: string, text: string): readonly UnplainText[] {
  const isPage = path.endsWith(".md");
  // JSX has texts outside of strings.
  const isCode = path.endsWith(".ts");
  let isFenced = false;
  let isBlock = false;
  return text.split("\n").flatMap((line, index) => {
    if (line.trimStart().startsWith("```")) isFenced = !isFenced;
    if (isPage && (isFenced || line.startsWith("#"))) return [];
    const prose = isCode ? proseOf(line, isBlock) : line;
    if (isCode) isBlock = /\/\*(?!.*\*\/)/.test(line) || (isBlock && !line.includes("*/"));
    const found = banned.find(([pattern]) => pattern.test(prose));
    return found === undefined ? [] : [{ line: index + 1, text: line.trim(), instead: found[1] }];
  });
}

/** The comment and the string literals of a line of code. */
function proseOf(line: string, isBlock: boolean): string {
  if (isBlock) return line;
  const comment = /(?:^|\s)(\/\/.*|\/\*.*)$/.exec(line)?.[1] ?? "";
  const code = comment === "" ? line : line.slice(0, line.length - comment.length);
  const strings = [...code.matchAll(/"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map((match) => match[1] ?? match[2] ?? "");
  return [...strings, comment].join(" ¦ ");
}

/** One line for each text of these files that holds such words. */
export function unplainWords(files: readonly { readonly path: string; readonly text: string }[]): string[] {
  return files.flatMap(({ path, text }) => unplainTexts(path, text).map((found) => `${path}:${found.line}: "${found.text}": write ${found.instead}`));
}
