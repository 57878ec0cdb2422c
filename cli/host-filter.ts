import { PlatformError } from "../core/errors/platform-error.ts";
import type { Call, OptionSpec } from "./command.ts";

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

/** The same of commands that list databases. */
export const databaseFilterOptions: readonly OptionSpec[] = [
  { flags: "--search <words>", text: "only databases with all of these words in name or labels; separated by commas", multiple: true },
  { flags: "--query <expression>", text: 'only those for which it holds: labels["env"] == "prod" && status != "healthy"' },
];

/** The same of commands that list Kubernetes clusters. */
export const kubeFilterOptions: readonly OptionSpec[] = [
  { flags: "--search <words>", text: "only clusters with all of these words in name or labels; separated by commas", multiple: true },
  { flags: "--query <expression>", text: 'only those for which it holds: labels["env"] == "prod" && !hasPrefix(name, "eu-")' },
];

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
