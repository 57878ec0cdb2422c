import type { Duplex } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Filter } from "../frame-filter.ts";

/** Maximum unread bytes of a client at which another answer is added. */
const maxUnread = 1024 * 1024;

/** Answers of the agent itself, inserted between two messages of the server. */
export class LocalAnswers {
  readonly #client: Duplex;
  readonly #fromServer: Pick<Filter, "atBoundary">;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;

  constructor(client: Duplex, fromServer: Pick<Filter, "atBoundary">) {
    this.#client = client;
    this.#fromServer = fromServer;
  }

  /** Takes an answer; `flush` writes it. Throws `limit` when the client sends commands without reading the answers. */
  add(answer: Buffer): void {
    if (this.#waitingBytes + answer.length + this.#client.writableLength > maxUnread + this.#client.writableHighWaterMark)
      throw new PlatformError("limit", "the client does not read the answers to its commands");
    this.#waiting.push(answer);
    this.#waitingBytes += answer.length;
  }

  /** Writes what waits, unless the client has a message of the server in part. */
  flush(): void {
    if (this.#waiting.length === 0 || !this.#fromServer.atBoundary || this.#client.writableEnded) return;
    for (const answer of this.#waiting) this.#client.write(answer);
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}
