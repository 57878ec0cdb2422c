import type { TerminalAsk } from "../../core/api/web/terminal.ts";
import { commandWords } from "../text/command-words.ts";

/** A terminal, before its size, and what a code has confirmed for it, are known. */
export type Wish<T = TerminalAsk> = T extends TerminalAsk ? Omit<T, "cols" | "rows" | "confirmation"> : never;

/** The terminal that an address asks for; undefined: it names none. Pure. */
export function askedTerminal(query: URLSearchParams): Wish | undefined {
  const of = (name: string): string => query.get(name) ?? "";
  const [node, login, session] = [of("node"), of("login"), of("session")];
  const [cluster, namespace, pod] = [of("cluster"), of("namespace"), of("pod")];
  if (session) return { type: "join", session, mode: query.get("mode") === "peer" ? "peer" : "observer" };
  if (cluster && namespace && pod) {
    const line = of("command");
    return { type: "pod", cluster, namespace, pod, container: of("container"), command: [...(commandWords(line) ?? [line])] };
  }
  return node && login ? { type: "open", node, login } : undefined;
}

/** The expression that finds the hosts which an address may mean: it has an id or a name. Pure. */
export function hostQuery(node: string): string {
  const text = `"${node.replaceAll(/["\\]/g, "\\$&")}"`;
  return `id == ${text} || name == ${text}`;
}

/** A title that a program has set, as one line of text. Pure. */
export function titleText(title: string): string {
  return title
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, 80);
}

/** The address of a link in the output, if it may be opened: web pages alone. Pure. */
export function linkAddress(text: string): string | undefined {
  if (text.length > 2048 || !URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}

/** How a terminal ended, as a sentence. Pure. */
export function endText({ status, reason }: { readonly status?: number; readonly reason?: string }): string {
  if (reason !== undefined) return `The session ended: ${reason}.`;
  return status === 0 ? "The session ended." : `The session ended with status ${status ?? 255}.`;
}
