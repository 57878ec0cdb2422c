import type { SourceFile } from "./source-tree.ts";

/** One way for JSON in the auth API: docs/decisions/0037-documents-on-the-wire.md. */

const fieldPattern = /^\s*(?:repeated |optional )?(\S+) (\w+) = \d+(?: \[(.*)\])?;/;
const isNamedSo = (name: string): boolean => name === "json" || name.endsWith("_json");

/** Fields of a `.proto` that hold JSON without being declared as a document, or the other way round. Pure. */
export function undeclaredDocuments(proto: string): string[] {
  return proto.split("\n").flatMap((line, index) => {
    const [, type = "", name = "", options = ""] = fieldPattern.exec(line) ?? [];
    const kind = /\(document\) = "([a-z_]+)"/.exec(options)?.[1];
    const where = `auth.proto:${index + 1}: ${name}`;
    if (isNamedSo(name) && kind === undefined) return [`${where} holds JSON: make it a message, or a document with its kind: [(document) = "…"]`];
    if (kind !== undefined && !isNamedSo(name)) return [`${where} is a document: name it …_json`];
    return kind !== undefined && type !== "string" ? [`${where} is a document: its type is string`] : [];
  });
}

const codec = "core/resources/document.ts";
const isTest = (path: string): boolean => /\.test\.ts$|^test\/|^bench\//.test(path);
/** A `…Json` field that is read or written by hand. */
const byHand =
  /(?:JSON\.parse|parseJson|parseJsonAs|[sS]chema\.(?:safeP|p)arse)\([^;]*\b(?!parseJson)\w+Json\b|\b\w+Json(?:: |\.map\(.*)(?:.*\b)?JSON\.(?:parse|stringify)\(/;

/** Code that reads or writes the JSON of a message without the codec of documents. Pure. */
export function documentsByHand(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => path !== codec && !isTest(path))
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index) =>
          byHand.test(line) ? [`${path}:${index + 1} reads or writes a document by hand: use readDocument, writeDocument`] : [],
        ),
    );
}
