import { isNode, LineCounter, parseAllDocuments, type Document as YamlDocument } from "yaml";
import { resourceProblems } from "../../core/config/resource-problems.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type Resource, type ResourceKind, resourceKinds, resourceSpecs } from "../../core/resources/resource-specs.ts";
import { unknownKindText } from "./documents.ts";

export interface Manifest {
  readonly kind: ResourceKind;
  readonly name: string;
  /** `file, line 12`. */
  readonly place: string;
  /** Checked against its schema. */
  readonly document: Resource;
}

/**
 * The resources of a YAML (or JSON) text with one or more documents. Throws `invalid` with every problem of all documents,
 * each with its line.
 */
export function readManifest(text: string, source: string): readonly Manifest[] {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, uniqueKeys: true, version: "1.2" });
  const documents = "empty" in parsed ? [] : parsed;
  const problems: string[] = [];
  const manifests: Manifest[] = [];
  for (const document of documents) {
    if (document.contents === null && document.errors.length === 0) continue;
    const read = readDocument(document, { source, lines });
    if (Array.isArray(read)) problems.push(...read);
    else manifests.push(read);
  }
  if (problems.length > 0) {
    const count = problems.length === 1 ? "a problem" : `${problems.length} problems`;
    throw new PlatformError("invalid", `${source} has ${count}; nothing was sent:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
  }
  if (manifests.length === 0)
    throw new PlatformError("invalid", `${source} contains no resource`, { hint: "see: tctl get role/access for the form" });
  return manifests;
}

interface Place {
  readonly source: string;
  readonly lines: LineCounter;
}

/** The resource, or its problem. */
function readDocument(document: YamlDocument, { source, lines }: Place): Manifest | string[] {
  const lineOf = (offset: number | undefined): number => (offset === undefined ? 1 : Math.max(1, lines.linePos(offset).line));
  if (document.errors.length > 0)
    return document.errors.map(
      (error) => `line ${lineOf(error.pos[0])}: ${(error.message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "")}`,
    );
  const start = isNode(document.contents) ? lineOf(document.contents.range?.[0]) : 1;
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch {
    return [`line ${start}: too many aliases`];
  }
  const kind = kindOf(value);
  if (kind === undefined) return [`line ${start}: ${kindProblem(value)}; kinds: ${resourceKinds.join(", ")}`];
  // Drops the read-only part of `tctl get`, so that an exported resource can be applied again.
  const { status: _status, ...wanted } = value as Record<string, unknown>;
  const checked = resourceSpecs[kind].schema.safeParse(wanted);
  if (checked.success) return { kind, name: checked.data.metadata.name, place: `${source}, line ${start}`, document: checked.data };
  return resourceProblems(resourceSpecs[kind].schema, checked.error, wanted)
    .map(({ path, text }) => ({ line: lineOf(offsetOf(document, path)), text: `${path.join(".") || "document"}: ${text}` }))
    .sort((a, b) => a.line - b.line)
    .map(({ line, text }) => `line ${line}: ${text}`);
}

function kindOf(value: unknown): ResourceKind | undefined {
  return typeof value === "object" && value !== null && "kind" in value ? resourceKinds.find((kind) => kind === value.kind) : undefined;
}

function kindProblem(value: unknown): string {
  const named = typeof value === "object" && value !== null && "kind" in value ? value.kind : undefined;
  return typeof named === "string" ? unknownKindText(named.slice(0, 64)) : "the document has no kind";
}

/** Position in the text of the deepest existing part of the path. */
function offsetOf(document: YamlDocument, path: readonly PropertyKey[]): number | undefined {
  for (let length = path.length; length >= 0; length -= 1) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return undefined;
}
