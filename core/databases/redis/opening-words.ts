import { isUncounted } from "./uncounted-replies.ts";

/** Characters that are kept of a word, or of a line: enough for the longest names. */
const maxKept = 64;

/** The first two words of a client's command, however their bytes arrive. */
export class OpeningWords {
  #words: string[] = [];
  #isLine = false;

  /** A command begins; as a line of text, or as an array. */
  begin(isLine: boolean): void {
    this.#words = isLine ? [""] : [];
    this.#isLine = isLine;
  }

  /** An argument of an array begins. */
  beginWord(): void {
    // The third takes what is not kept.
    if (this.#words.length < 3) this.#words.push("");
  }

  /** The bytes that come next, with the end of the argument or of the line. */
  add(bytes: Buffer): void {
    const last = this.#words.length - 1;
    const word = this.#words[last];
    if (word === undefined || last > 1 || word.length >= maxKept) return;
    this.#words[last] = word + bytes.toString("latin1", 0, maxKept - word.length);
  }

  /** Whether replies can still be counted after the command. An empty one has no reply, and words in quotes are not read here. */
  get isCounted(): boolean {
    const [line = ""] = this.#words;
    if (this.#isLine && /["']/.test(line)) return false;
    const words = this.#isLine ? line.trim().split(/\s+/) : this.#words;
    // Servers compare names up to a NUL.
    const [name = "", subcommand = ""] = words.map((word) => word.split(/[\0\r\n]/, 1)[0]?.toLowerCase());
    return name !== "" && !isUncounted(name, subcommand);
  }
}
