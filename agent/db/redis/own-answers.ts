import { encodeError } from "../../../core/databases/redis/error-reply.ts";
import { encodeCommand } from "./resp.ts";

/** Most answers that a session remembers; only a client that makes up names can need more. */
const maxAnswers = 100;

/**
 * Answers of ours in their order among the server's replies. In place of the command the server gets one that it cannot know, its name a secret of
 * this session; the error with which it answers that is replaced by the answer. So the server keeps the order, aborts a transaction that has such a
 * command in it, and is silent where the client asked for silence (CLIENT REPLY).
 */
export class OwnAnswers {
  readonly #name: string;
  readonly #answers: string[] = [encodeError("NOPERM", "this command is refused").toString()];

  /** `secret`: at most 64 letters and digits that nobody else knows. */
  constructor(secret: string) {
    this.#name = `answered-${secret}-`;
  }

  /** The command that goes on in place of one that gets this whole reply. */
  commandFor(answer: Buffer): Buffer {
    const text = answer.toString();
    let index = this.#answers.indexOf(text);
    if (index < 0) index = this.#answers.length < maxAnswers ? this.#answers.push(text) - 1 : 0;
    return encodeCommand([`${this.#name}${index}`]);
  }

  /** The answer in place of the server's error; undefined: it is an error of its own. */
  answerFor(error: Buffer): Buffer | undefined {
    const text = error.toString("latin1");
    const at = text.indexOf(this.#name);
    if (at < 0) return undefined;
    const index = Number(/^\d+/.exec(text.slice(at + this.#name.length))?.[0] ?? 0);
    return Buffer.from(this.#answers[index] ?? this.#answers[0] ?? "");
  }
}
