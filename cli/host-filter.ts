import type { AuthClient } from "../core/api/auth-client.ts";
import { PlatformError } from "../core/errors/platform-error.ts";
import type { Node } from "../core/resources/node.ts";
import type { Call, OptionSpec } from "./command.ts";
import { readResource } from "./read-resource.ts";

/** Filter for hosts; the auth service applies it. */
export interface HostFilter {
  readonly labels: Readonly<Record<string, string>>;
  readonly search: readonly string[];
  readonly query: string;
}

/** Options of every command that lists hosts; its arguments are words and labels. */
export const hostFilterOptions: readonly OptionSpec[] = [
  { flags: "--search <words>", text: "only hosts with all of these words in name, id or labels; separated by commas", multiple: true },
  { flags: "--query <expression>", text: 'only those for which it holds: labels["env"] == "prod" && !hasPrefix(name, "db-")' },
];

/** Nodes per answer. */
const page = 1_000;

/** Arguments `key=value[,key=value…]` are labels, others are search words. Throws `invalid`. */
export function hostFilter({ args, options }: Pick<Call, "args" | "options">): HostFilter {
  const labels = parseLabels(args.filter((arg) => arg.includes("=")).join(","));
  const words = args.filter((arg) => !arg.includes("="));
  return { labels, search: [...words, ...options.list("search")], query: options.text("query") ?? "" };
}

/** `key=value[,key=value…]`, each exact; empty: none. A value may hold `=`, but no comma. Throws `invalid`. */
export function parseLabels(text: string): Readonly<Record<string, string>> {
  const labels = new Map<string, string>();
  const refuse = (why: string): never => {
    throw new PlatformError("invalid", why, {
      hint: "write labels as key=value, separated by commas; for other conditions use tsh ls --query",
    });
  };
  for (const part of text === "" ? [] : text.split(",")) {
    const [, key = "", value = ""] = /^([A-Za-z0-9][A-Za-z0-9._/:-]{0,127})=(.{0,256})$/.exec(part) ?? [];
    if (key === "") refuse(`${JSON.stringify(part.slice(0, 200))} is not a label`);
    if (labels.has(key) && labels.get(key) !== value) refuse(`the label ${key} is wanted with two values: no host has both`);
    labels.set(key, value);
  }
  return Object.fromEntries(labels);
}

/** The matching hosts, by name, page by page. */
export async function listHosts(client: Pick<AuthClient, "listResources">, { labels, search, query }: HostFilter): Promise<readonly Node[]> {
  const nodes: Node[] = [];
  let cursor = "";
  do {
    const answer = await client.listResources({ kind: "node", labels, search: [...search], query, limit: page, cursor });
    nodes.push(...answer.resources.map(({ json }) => readResource<Node>(json)));
    cursor = answer.cursor;
  } while (cursor !== "");
  // An older auth service does not know the filter: a command must not run on hosts that the user did not choose.
  const wanted = Object.entries(labels);
  return nodes.filter(({ metadata }) => wanted.every(([key, value]) => metadata.labels?.[key] === value)).sort(byName);
}

function byName(a: Node, b: Node): number {
  if (a.spec.hostname === b.spec.hostname) return a.metadata.name < b.metadata.name ? -1 : 1;
  return a.spec.hostname < b.spec.hostname ? -1 : 1;
}
