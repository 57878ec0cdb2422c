import type { Settle } from "../engine.ts";
import { BoundedTexts } from "./bounded-texts.ts";
import type { ServerError } from "./error-response.ts";
import { maxTags, statementResult } from "./statement-result.ts";

interface Recorded {
  /** For the session's recording. */
  readonly result?: Settle | undefined;
}

/** A message of the client that the server has yet to answer. A name is undefined where it is not followed. */
export type Awaited =
  | ({ readonly kind: "query"; readonly settle: (failure: ServerError | undefined) => void } & Recorded)
  | ({ readonly kind: "parse"; readonly statement: string | undefined; readonly text: string } & Recorded)
  | { readonly kind: "bind"; readonly portal: string | undefined; readonly text: string | undefined }
  | { readonly kind: "close"; readonly what: "statement" | "portal"; readonly name: string | undefined }
  | ({ readonly kind: "execute"; readonly portal?: string | undefined } & Recorded)
  | ({ readonly kind: "function" } & Recorded)
  | { readonly kind: "describe" | "sync" | "copyEnd" };

/** The server's messages that answer one of the client's. */
const answers: Readonly<Record<string, readonly Awaited["kind"][]>> = {
  "1": ["parse"],
  "2": ["bind"],
  "3": ["close"],
  T: ["describe"],
  n: ["describe"],
  C: ["execute"],
  I: ["execute"],
  s: ["execute"],
  Z: ["query", "function", "sync"],
};

/** Maximum number of messages that are not answered, and characters of statements in them; with more of them the pipeline gives up. */
const maxAwaited = 2_048;
const maxCharacters = 262_144;

/**
 * Follows which message of the client the server answers, so that the text of an executed statement and the failure of a query can be stated. Where
 * it cannot know, it states nothing: a client may send any number of messages ahead, and the server skips those behind a failed one.
 */
export class Pipeline {
  readonly #statements = new BoundedTexts();
  readonly #portals = new BoundedTexts();
  #awaited: Awaited[] = [];
  /** Characters of statements in `#awaited`, or more: counted again where they seem too many. */
  #characters = 0;
  #failure: ServerError | undefined;
  /** Rows and tags of the message that the server is answering. */
  #rows = 0;
  #tags: string[] = [];
  /** The server skips everything up to the next Sync. */
  #skips = false;
  /** The server reads data of a COPY, and ignores Sync. */
  #copies = false;
  /** More was sent ahead than can be followed, or the server answered something else. */
  #isLost = false;

  /** The client's message goes to the server. */
  push(message: Awaited): void {
    if (message.kind === "copyEnd" && this.#copies) this.#copies = false;
    else if (this.#isLost) settle(message, undefined, "unknown");
    else if (this.#skips && message.kind !== "sync") settle(message, undefined, "skipped");
    else if (!this.#copies || message.kind !== "sync") {
      this.#skips = false;
      this.#awaited.push(message);
      this.#characters += charactersOf(message);
      if (this.#awaited.length > maxAwaited || this.#isTooLong()) this.#lose();
    }
  }

  #isTooLong(): boolean {
    if (this.#characters <= maxCharacters) return false;
    this.#characters = this.#awaited.reduce((sum, message) => sum + charactersOf(message), 0);
    return this.#characters > maxCharacters;
  }

  /** The text of a prepared statement, as a message that is sent now finds it; undefined: unknown, or uncertain. */
  statement(name: string | undefined): string | undefined {
    if (name === undefined) return undefined;
    return this.#find(this.#statements, name, (message) => {
      if (message.kind === "parse" && message.statement === name) return { text: message.text };
      return message.kind === "close" && message.what === "statement" && message.name === name ? { text: undefined } : undefined;
    });
  }

  /** The text of the statement that a portal runs. */
  portal(name: string | undefined): string | undefined {
    if (name === undefined) return undefined;
    return this.#find(this.#portals, name, (message) => {
      if (message.kind === "bind" && message.portal === name) return { text: message.text };
      return message.kind === "close" && message.what === "portal" && message.name === name ? { text: undefined } : undefined;
    });
  }

  /** Messages up to the last Sync succeed together with the one that is sent now; those before it may yet fail. */
  #find(texts: BoundedTexts, name: string, change: (message: Awaited) => { readonly text: string | undefined } | undefined): string | undefined {
    if (this.#isLost) return undefined;
    let isSameBatch = true;
    for (let index = this.#awaited.length - 1; index >= 0; index -= 1) {
      const message = this.#awaited[index] as Awaited;
      if (message.kind === "sync" || message.kind === "function") isSameBatch = false;
      // A simple query ends unnamed statements and portals, and may hold DEALLOCATE and PREPARE.
      if (message.kind === "query") return undefined;
      const changed = change(message);
      if (changed !== undefined) return isSameBatch ? changed.text : undefined;
    }
    return texts.get(name);
  }

  /** A DataRow of the server. */
  row(): void {
    this.#rows += 1;
  }

  /** The server's message, by its type; `tag`: of a CommandComplete, `failure`: of an ErrorResponse. */
  answer(type: string, { tag = "", failure }: { readonly tag?: string; readonly failure?: ServerError } = {}): void {
    if (tag !== "" && /^(?:DEALLOCATE|DISCARD|PREPARE|CLOSE|DECLARE)\b/.test(tag)) this.#forget();
    if (this.#isLost) return;
    while (this.#awaited[0]?.kind === "copyEnd") this.#awaited.shift();
    const [head] = this.#awaited;
    if (type === "E") return void this.#fail(head, failure);
    if (type === "G" || type === "W") return void this.#beginCopy();
    if (type === "C" && this.#tags.length < maxTags) this.#tags.push(tag.split("\0", 1)[0] ?? "");
    const expected = answers[type];
    if (expected === undefined || head === undefined) return;
    // Results of a simple query.
    if (head.kind === "query" && type !== "Z") return;
    if (!expected.includes(head.kind)) return void this.#lose();
    this.#awaited.shift();
    this.#apply(head);
  }

  #apply(message: Awaited): void {
    this.#name(message);
    if (message.kind === "query") {
      this.#statements.delete("");
      this.#portals.delete("");
    }
    settle(message, this.#failure);
    if ("result" in message) message.result?.(statementResult({ tags: this.#tags, rows: this.#rows, failure: this.#failure }));
    this.#tags = [];
    this.#rows = 0;
    if (message.kind === "query" || message.kind === "sync" || message.kind === "function") this.#failure = undefined;
  }

  /** The server's statements and portals have changed. */
  #name(message: Awaited): void {
    const { kind } = message;
    if (kind === "parse" && message.statement !== undefined) this.#statements.set(message.statement, message.text);
    if (kind === "bind" && message.portal !== undefined) {
      if (message.text === undefined) this.#portals.delete(message.portal);
      else this.#portals.set(message.portal, message.text);
    }
    if (kind === "close" && message.name !== undefined) (message.what === "statement" ? this.#statements : this.#portals).delete(message.name);
  }

  #fail(head: Awaited | undefined, failure: ServerError | undefined): void {
    this.#copies = false;
    if (head === undefined || head.kind === "sync") return;
    if (head.kind === "query" || head.kind === "function") {
      this.#failure = failure;
      return;
    }
    const next = this.#awaited.findIndex((message) => message.kind === "sync");
    this.#skips = next < 0;
    const skipped = this.#awaited.splice(0, next < 0 ? this.#awaited.length : next);
    this.#settleSkipped(skipped, failure);
  }

  /** The first of them has failed: a Bind with it the Execute that would have run its portal. */
  #settleSkipped([head, ...others]: readonly Awaited[], failure: ServerError | undefined): void {
    const failed = head?.kind === "bind" ? others.find((one) => runs(one, head.portal)) : head;
    const rows = failed === head ? this.#rows : 0;
    if (failed !== undefined && "result" in failed) failed.result?.(statementResult({ tags: [], rows, failure: failure ?? unknownError }));
    this.#rows = 0;
    this.#tags = [];
    for (const message of [head, ...others]) if (message !== undefined) settle(message, undefined, message === failed ? undefined : "skipped");
  }

  /** What the client has sent ahead goes to the COPY: each Sync up to its end is ignored. */
  #beginCopy(): void {
    const [head, ...rest] = this.#awaited;
    if (head === undefined) return;
    const end = rest.findIndex((message) => message.kind === "copyEnd");
    const isIgnored = (message: Awaited, index: number): boolean => message.kind === "sync" && (end < 0 || index < end);
    this.#copies = end < 0;
    this.#awaited = [head, ...rest.filter((message, index) => index !== end && !isIgnored(message, index))];
  }

  #forget(): void {
    this.#statements.clear();
    this.#portals.clear();
  }

  /** Ends the wait for all answers: at the end of the session. */
  close(): void {
    this.#lose(false);
  }

  /** `isAnswered`: the server goes on answering, but to unknown messages. */
  #lose(isAnswered = true): void {
    this.#isLost = true;
    this.#forget();
    for (const message of this.#awaited.splice(0)) settle(message, undefined, isAnswered ? "unknown" : undefined);
  }
}

function runs(message: Awaited, portal: string | undefined): boolean {
  return message.kind === "execute" && portal !== undefined && message.portal === portal;
}

function charactersOf(message: Awaited): number {
  return message.kind === "parse" ? message.text.length : 0;
}

const unknownError: ServerError = { severity: "ERROR", state: "", message: "" };

function settle(message: Awaited, failure: ServerError | undefined, outcome?: "skipped" | "unknown"): void {
  if (message.kind === "query") message.settle(failure);
  if (outcome !== undefined && "result" in message) message.result?.({ outcome });
}
