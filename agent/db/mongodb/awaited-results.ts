import type { DatabaseEvent, Settle, StatementLog } from "../engine.ts";
import { nameOf } from "./judge-command.ts";
import { replyResult } from "./reply-result.ts";
import { flag, type Header, type Request } from "./wire-message.ts";

/** Maximum number of commands whose results are awaited for the recording. */
const maxResults = 256;

/** Recorded commands whose results are awaited, by their requests. */
export class AwaitedResults {
  readonly #results = new Map<number, { readonly command: string; readonly settle: Settle }>();

  has(requestId: number): boolean {
    return this.#results.has(requestId);
  }

  /** The command is recorded; `statements` undefined: not. */
  begin({ requestId, flags, command }: Request, event: DatabaseEvent, statements: StatementLog | undefined): void {
    const settle = statements?.begin(event);
    if (settle === undefined) return;
    // No answer is awaited.
    if ((flags & flag.moreToCome) !== 0) {
      settle({ outcome: "unknown" });
      return;
    }
    const [oldest] = this.#results.keys();
    if (oldest !== undefined && this.#results.size >= maxResults) {
      this.#results.get(oldest)?.settle({ outcome: "unknown" });
      this.#results.delete(oldest);
    }
    this.#results.set(requestId, { command: nameOf(command), settle });
  }

  /** The server's answer. */
  settle(header: Header, body: Buffer): void {
    const awaited = this.#results.get(header.responseTo);
    this.#results.delete(header.responseTo);
    awaited?.settle(replyResult(awaited.command, header, body));
  }
}
