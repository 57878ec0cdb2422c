import type { ServerChannel } from "ssh2";
import type { JoinMode } from "../../../core/resources/session.ts";

/** What a participant may have unread, bytes: whoever is further behind is cut off, and nobody waits. */
const mostBehind = 1024 * 1024;
/** Notices that wait for a slow reader, bytes; more are not told. */
const mostNotices = 16 * 1024;

export interface SeatFacts {
  readonly user: string;
  readonly mode: JoinMode;
  readonly stream: ServerChannel;
}

/** One who has joined a session: what is shown to it, and how that ends. */
export class Seat {
  readonly user: string;
  readonly mode: JoinMode;
  /** Called once, when nothing more is shown to it. */
  onLeft: () => void = () => {};
  /** Why it left, unless it wanted to. */
  reason: string | undefined;
  readonly #stream: ServerChannel;
  #isOpen = true;

  constructor({ user, mode, stream }: SeatFacts) {
    this.user = user;
    this.mode = mode;
    this.#stream = stream;
  }

  /** Never waits. */
  show(chunk: Buffer): void {
    if (!this.#isOpen || chunk.length === 0) return;
    this.#stream.write(chunk);
    if (this.#stream.writableLength > mostBehind) this.cut("you were cut off from this session: it shows more than you read");
  }

  tell(text: string): void {
    const { stderr } = this.#stream;
    if (this.#isOpen && stderr.writableLength < mostNotices) stderr.write(`\r\nplatform: ${text}\r\n`);
  }

  /** The session is over. */
  finish(text: string): void {
    if (!this.#isOpen) return;
    this.tell(text);
    this.#stream.exit(0);
    this.leave("the session has ended");
    this.#stream.end();
  }

  /** The sentence goes ahead of all that it has not read: it may never read that. */
  cut(reason: string): void {
    if (!this.#isOpen) return;
    this.#stream.exit("TERM", false, reason);
    this.leave(reason);
    this.#stream.close();
  }

  /** It is gone, by its own wish where there is no reason. */
  leave(reason?: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.reason = reason;
    this.onLeft();
  }
}
