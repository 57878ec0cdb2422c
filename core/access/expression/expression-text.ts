import { PlatformError } from "../../errors/platform-error.ts";

/** A pattern that is being read, character by character. */
export class ExpressionText {
  readonly #chars: readonly string[];
  readonly #pattern: string;
  #position = 0;
  /** Names of the groups opened so far; empty for a group without a name. */
  readonly groups: string[] = [];

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#chars = [...pattern];
  }

  peek(ahead = 0): string | undefined {
    return this.#chars[this.#position + ahead];
  }

  next(): string | undefined {
    const char = this.peek();
    this.#position += 1;
    return char;
  }

  /** Whether the text continues with this, which is then consumed. */
  skip(expected: string): boolean {
    if (
      !this.#chars
        .slice(this.#position, this.#position + expected.length)
        .join("")
        .startsWith(expected)
    )
      return false;
    this.#position += expected.length;
    return true;
  }

  /** The first group of an expression that starts with `^`, when it matches the following text (40 characters at most), which is then consumed. */
  take(expression: RegExp): string | undefined {
    const found = expression.exec(this.#chars.slice(this.#position, this.#position + 40).join(""));
    if (found === null) return undefined;
    this.#position += [...found[0]].length;
    return found[1] ?? "";
  }

  wrong(why: string): PlatformError {
    return new PlatformError("invalid", `the expression ${JSON.stringify(this.#pattern.slice(0, 200))} cannot be used: ${why}`, {
      hint: "expressions are those of RE2: no look-around, no back references",
    });
  }
}
