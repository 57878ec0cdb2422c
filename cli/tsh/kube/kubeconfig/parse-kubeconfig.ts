import { type Document, LineCounter, type ParsedNode, parseAllDocuments } from "yaml";
import { PlatformError } from "../../../../core/errors/platform-error.ts";

/** Lists of a kubeconfig whose entries have names. */
export const listNames = ["clusters", "users", "contexts"] as const;
export type ListName = (typeof listNames)[number];

/** An entry of a list: `name`, and `cluster`, `user` or `context`. */
export type Entry = Readonly<Record<string, unknown>>;

export interface Kubeconfig {
  readonly clusters: readonly Entry[];
  readonly users: readonly Entry[];
  readonly contexts: readonly Entry[];
  /** Empty: none. */
  readonly currentContext: string;
}

export interface ParsedKubeconfig {
  readonly document: Document<ParsedNode>;
  /** All of it as JSON values. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly config: Kubeconfig;
}

/** Reads a kubeconfig, YAML or JSON; an empty one is valid. Positions of its nodes refer to `text`. Throws `invalid`. */
export function parseKubeconfig(text: string, path: string): ParsedKubeconfig {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { keepSourceTokens: true, lineCounter, prettyErrors: false, merge: true });
  const document = Array.isArray(documents) ? documents[0] : undefined;
  // Nothing but comments.
  if (document === undefined) return parseKubeconfig("{}", path);
  const [error] = document.errors;
  if (error !== undefined) throw unreadable(path, `line ${lineCounter.linePos(error.pos[0]).line}: ${error.message}`);
  if (documents.length > 1) throw unreadable(path, "it holds several documents");
  const value = fieldsOf(toValue(document, path), path, "it");
  const entries = (list: ListName): readonly Entry[] => {
    const found = value[list] ?? [];
    if (!Array.isArray(found)) throw unreadable(path, `${list} is not a list`);
    return found.map((one: unknown, index) => fieldsOf(one, path, `entry ${index + 1} of ${list}`));
  };
  const current = value["current-context"] ?? "";
  const config = {
    clusters: entries("clusters"),
    users: entries("users"),
    contexts: entries("contexts"),
    currentContext: typeof current === "string" ? current : JSON.stringify(current),
  };
  return { document, value, config };
}

function toValue(document: Document<ParsedNode>, path: string): unknown {
  try {
    return document.toJS() ?? {};
  } catch (cause) {
    throw unreadable(path, cause instanceof Error ? cause.message : String(cause));
  }
}

function fieldsOf(value: unknown, path: string, what: string): Entry {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Entry;
  throw unreadable(path, `${what} is not a map`);
}

function unreadable(path: string, why: string): PlatformError {
  return new PlatformError("invalid", `${path} is not a kubeconfig: ${why}`, {
    hint: "correct the file; `kubectl config view` shows how kubectl reads it",
  });
}
