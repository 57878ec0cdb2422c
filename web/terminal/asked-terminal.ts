import type { TerminalAsk } from "../../core/api/web/terminal.ts";

type Wish<T = TerminalAsk> = T extends TerminalAsk ? Omit<T, "cols" | "rows"> : never;

/** The terminal that an address asks for; undefined: it names none. Pure. */
export function askedTerminal(query: URLSearchParams): Wish | undefined {
  const [node, login, session] = ["node", "login", "session"].map((name) => query.get(name) ?? "");
  if (session) return { type: "join", session, mode: query.get("mode") === "peer" ? "peer" : "observer" };
  return node && login ? { type: "open", node, login } : undefined;
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
