import { type Document, isMap, isScalar, LineCounter, parseDocument, type YAMLError } from "yaml";
import type { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { brokenRules, isOff, valueAt } from "./cross-rules.ts";
import { keysAt, unknownKeyText, valueText } from "./issue-text.ts";
import { configSchema } from "./platform-config.ts";
import { isReferenceKey } from "./reference-keys.ts";

export type FileSections = z.infer<typeof configSchema>;

export interface ParsedConfig {
  /** Present when there are no problems. */
  readonly sections?: FileSections;
  readonly problems: readonly Problem[];
  /** Line of a key, or of the nearest one above it. */
  readonly lineOf: (path: readonly PropertyKey[]) => number | undefined;
}

/** Checks the text of a configuration file and finds all its problems. Pure; never throws. */
export function parseConfig(text: string): ParsedConfig {
  const lines = new LineCounter();
  const broken = (why: string): ParsedConfig => ({ problems: [{ text: why }], lineOf: () => undefined });
  let document: Document.Parsed;
  let file: unknown;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "silent", stringKeys: true });
    const faults = [...document.errors, ...document.warnings];
    if (faults.length > 0) return { problems: faults.map((fault) => yamlProblem(fault, lines)), lineOf: () => undefined };
    // No aliases: they have no use here, and nested ones grow without bound.
    file = document.toJS({ maxAliasCount: 0 });
  } catch (thrown) {
    return broken(thrown instanceof ReferenceError ? "anchors and aliases are not supported; write the value out" : "is not readable as YAML");
  }
  if (!isMap(document.contents))
    return broken(
      `must hold sections: ${Object.keys(configSchema.shape)
        .filter((name) => name !== "version")
        .join(", ")}`,
    );
  const lineOf = (path: readonly PropertyKey[]): number | undefined => keyLine(document, lines, path);
  return checked(withoutOff(file), lineOf);
}

/** Sections of services that are off are not checked further: files of other hosts, and the reference's, have all of them. */
function withoutOff(file: unknown): unknown {
  if (typeof file !== "object" || file === null) return file;
  const isOffSection = (name: string): boolean => name.endsWith("_service") && isOff(valueAt(file, [name, "enabled"]));
  const known = (name: string): boolean => name in configSchema.shape;
  const kept = Object.entries(file).filter(([name]) => !isOffSection(name) || known(name) || !isReferenceKey("", name));
  return Object.fromEntries(kept.map(([name, value]) => (isOffSection(name) && known(name) ? [name, { enabled: false }] : [name, value])));
}

function checked(file: unknown, lineOf: ParsedConfig["lineOf"]): ParsedConfig {
  const result = configSchema.safeParse(file);
  const problems = (result.error?.issues ?? []).flatMap((issue) => issueProblems(issue, file, lineOf));
  const rules = brokenRules(file).map(({ path, text }) => problem(lineOf(path), text));
  const all = [...problems, ...rules];
  return all.length === 0 && result.success ? { sections: result.data, problems: [], lineOf } : { problems: all, lineOf };
}

function issueProblems(issue: z.core.$ZodIssue, file: unknown, lineOf: ParsedConfig["lineOf"]): readonly Problem[] {
  if (issue.code === "unrecognized_keys") {
    const known = keysAt(configSchema, issue.path);
    const section = issue.path.map(String).join(".");
    return issue.keys.map((key) => problem(lineOf([...issue.path, key]), unknownKeyText(section, key, known)));
  }
  if (issue.path[0] === "version" && valueAt(file, ["version"]) === undefined)
    return [{ line: 1, text: "version is missing; add the line version: v3" }];
  // A single value that may also be a list is checked as a list of one; the user wrote no index.
  const alone = typeof issue.path.at(-1) === "number" && !Array.isArray(valueAt(file, issue.path.slice(0, -1)));
  const path = alone ? issue.path.slice(0, -1) : issue.path;
  return [problem(lineOf(path), valueText({ ...issue, path }, valueAt(file, path)))];
}

function problem(line: number | undefined, text: string): Problem {
  return line === undefined ? { text } : { line, text };
}

/** Replacements for the parser's texts, with better advice. */
const yamlTexts: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: "this key is there twice; remove one of them",
  TAB_AS_INDENT: "indented with a tab; use spaces",
  MULTIPLE_DOCS: "a second document begins here; a configuration file is one document",
};

function yamlProblem(fault: YAMLError, lines: LineCounter): Problem {
  return { line: lines.linePos(fault.pos[0]).line, text: yamlTexts[fault.code] ?? `not YAML: ${fault.message.slice(0, 200)}` };
}

/** The line of the deepest key of the path that is in the document. */
function keyLine(document: Document.Parsed, lines: LineCounter, path: readonly PropertyKey[]): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step));
      if (pair === undefined) break;
      offset = (pair.key as { range?: [number, number, number] }).range?.[0] ?? offset;
      node = pair.value;
    } else if (typeof node === "object" && node !== null && "items" in node && Array.isArray(node.items)) {
      node = node.items[Number(step)];
      offset = (node as { range?: [number, number, number] } | undefined)?.range?.[0] ?? offset;
    } else break;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}

/** One error in a configuration file. */
export interface Problem {
  /** From 1; omitted for the file as a whole. */
  readonly line?: number;
  /** What is wrong and what to do. */
  readonly text: string;
}

/** All problems as one error, one line each: `file:line: what is wrong; what to do`. */
export function problemsError(file: string, problems: readonly Problem[]): PlatformError {
  const lines = [...problems]
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0))
    .map(({ line, text }) => (line === undefined ? `${file}: ${text}` : `${file}:${line}: ${text}`));
  return new PlatformError("invalid", lines.join("\n"), { hint: "nothing was started; `platform configure` writes a commented example" });
}
