import type { ServerChannel } from "ssh2";
import { GatheringWriter } from "../../core/bytes/gathering-writer.ts";
import type { JoinMode } from "../../core/resources/session.ts";
import { mostNotices, noticeOf } from "./notice.ts";

/** Maximum unread output of a participant, bytes: a slower one is disconnected, and nobody waits for it. */
const mostBehind = 1024 * 1024;

export interface SeatFacts {
  readonly user: string;
  readonly mode: JoinMode;
  readonly stream: ServerChannel;
}

/** One participant of a session: its output, and the end of it. */
export class Seat {
  readonly user: string;
  readonly mode: JoinMode;
  /** Called once, after its last output. */
  onLeft: () => void = () => {};
  /** Why it was disconnected; undefined when it left by itself. */
  reason: string | undefined;
  readonly #stream: ServerChannel;
  readonly #output: GatheringWriter;
  #isOpen = true;

  constructor({ user, mode, stream }: SeatFacts) {
    this.user = user;
    this.mode = mode;
    this.#stream = stream;
    this.#output = new GatheringWriter((bytes, done) => {
      if (this.#isOpen) stream.write(bytes, () => done());
    });
  }

  /** Never waits. */
  show(chunk: Buffer): void {
    if (!this.#isOpen || chunk.length === 0) return;
    this.#output.add(chunk);
    if (this.#output.length > mostBehind) this.cut("disconnected: your connection is too slow for this session's output");
  }

  tell(text: string): void {
    const { stderr } = this.#stream;
    if (this.#isOpen && stderr.writableLength < mostNotices) stderr.write(noticeOf(text));
  }

  /** The session is over. */
  finish(text: string): void {
    if (!this.#isOpen) return;
    this.#output.flush();
    this.tell(text);
    this.#stream.exit(0);
    this.leave("the session has ended");
    this.#stream.end();
  }

  /** The message goes ahead of its unread output, which it may never read. */
  cut(reason: string): void {
    if (!this.#isOpen) return;
    this.#stream.exit("TERM", false, reason);
    this.leave(reason);
    this.#stream.close();
  }

  /** It has left, by itself where there is no reason. */
  leave(reason?: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.reason = reason;
    this.onLeft();
  }
}
