import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import type { Entry } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { fromEntry } from "../document.ts";
import { opensshPrefix } from "./host-records.ts";
import { fromNodeEntry } from "./nodes.ts";
import { parseQuery } from "./query/parse-query.ts";
import { type HostFacts, matchQuery, matchWords } from "./query/query.ts";

/** A filter for hosts: all given conditions must hold. */
export interface NodeFilter {
  /** Exact values. */
  readonly labels: Readonly<Record<string, string>>;
  readonly search: readonly string[];
  /** Query, see query/parse-query; empty: none. */
  readonly query: string;
}

export interface NodePage {
  /** Nodes of one page; 0: all. */
  readonly limit: number;
  /** Cursor of the previous page; empty: from the start. */
  readonly cursor: string;
}

const maxTerms = 64;
const maxPage = 1_000;
/** Number of records read at once. */
const stride = 500;

/** Nodes that match and that `mayList` allows, by id. Reads the records in batches. Throws `invalid`. */
export async function findNodes(
  context: Pick<AuthContext, "storage" | "live">,
  wanted: NodeFilter & NodePage,
  mayList: (node: Node) => boolean = () => true,
): Promise<{ nodes: readonly Node[]; cursor: string }> {
  const matches = compileFilter(wanted);
  const limit = wanted.limit === 0 ? Number.POSITIVE_INFINITY : Math.min(wanted.limit, maxPage);
  const nodes: Node[] = [];
  for await (const { node, key } of allNodes(context, checkCursor(wanted.cursor))) {
    if (!matches(node) || !mayList(node)) continue;
    nodes.push(node);
    if (nodes.length === limit) return { nodes, cursor: key };
  }
  return { nodes, cursor: "" };
}

/** Hosts with an agent, then those without one, after that key. */
async function* allNodes(context: Pick<AuthContext, "storage" | "live">, cursor: string): AsyncGenerator<{ node: Node; key: string }> {
  const sources = [
    { prefix: "/node/", read: (entry: Entry) => fromNodeEntry(context, entry) },
    { prefix: opensshPrefix, read: (entry: Entry) => fromEntry(nodeSchema, entry) },
  ];
  const first = cursor.startsWith(opensshPrefix) ? 1 : 0;
  for (const { prefix, read } of sources.slice(first)) {
    let after = cursor.startsWith(prefix) ? cursor : prefix;
    for (let isMore = true; isMore; ) {
      const entries = await context.storage.list(prefix, { limit: stride, after });
      for (const entry of entries) {
        after = entry.key;
        yield { node: read(entry), key: entry.key };
      }
      isMore = entries.length === stride;
    }
  }
}

/** The filter as a decision about one node. Throws `invalid`. */
export function compileFilter(filter: NodeFilter): (node: Node) => boolean {
  const matches = compileFactsFilter(filter);
  return (node) => matches(factsOf(node));
}

/** The same about anything that has these facts. */
export function compileFactsFilter({ labels, search, query }: NodeFilter): (facts: HostFacts) => boolean {
  const wanted = Object.entries(labels);
  if (wanted.length > maxTerms || search.length > maxTerms) throw new PlatformError("invalid", `at most ${maxTerms} labels and words are allowed`);
  const parsed = query.trim() === "" ? undefined : parseQuery(query);
  return (facts) => {
    if (!wanted.every(([key, value]) => Object.hasOwn(facts.labels, key) && facts.labels[key] === value)) return false;
    return matchWords(search, facts) && (parsed === undefined || matchQuery(parsed, facts));
  };
}

function factsOf({ metadata, spec, status }: Node): HostFacts {
  const connected = status?.connected === true ? "connected" : "offline";
  return { id: metadata.name, name: spec.hostname, version: spec.version, status: connected, labels: metadata.labels ?? {} };
}

function checkCursor(text: string): string {
  if (!/^(?:\/(?:node|openssh_node)\/[\w%.~!*'()-]{1,400})?$/.test(text))
    throw new PlatformError("invalid", "the cursor is not from an earlier answer");
  return text;
}
