/** Maximum length of a line, characters; a longer line is split. */
const maxLine = 10_000;
/** Maximum length of an unfinished escape sequence, characters. */
const maxEscape = 4096;

/** CSI, OSC and its kin (ended by BEL or ST), or any other escape (ECMA-48). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
const sequence = /^(?:\u001b\[([0-?]*)[ -/]*([@-~])|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-OQ-WYZ\\`-~])/;
/** A possible start of one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this looks for
const beginning = /^\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)$/;

/**
 * The text that a terminal showed, as lines: escape sequences are removed, and characters overwritten in the line being
 * edited (carriage return, backspace, a shell's editing) appear in their final form. It is not an emulator of a whole screen.
 */
export class PlainText {
  #line: string[] = [];
  #at = 0;
  #held = "";

  /** The complete lines. */
  take(text: string): string {
    const done: string[] = [];
    let rest = this.#held + text;
    this.#held = "";
    while (rest !== "") {
      const found = rest.startsWith("\u001b") ? sequence.exec(rest) : null;
      if (found === null && rest.length < maxEscape && beginning.test(rest)) {
        this.#held = rest;
        break;
      }
      if (found !== null) this.#move(found[1] ?? "", found[2] ?? "");
      const end = found?.[0].length ?? ((rest.codePointAt(0) as number) > 0xffff ? 2 : 1);
      if (found === null) this.#put(rest.slice(0, end), done);
      rest = rest.slice(end);
    }
    return done.join("");
  }

  end(): string {
    const done: string[] = [];
    if (this.#line.length > 0) this.#break(done);
    return done.join("");
  }

  #put(character: string, done: string[]): void {
    if (character === "\n") this.#break(done);
    else if (character === "\r") this.#at = 0;
    else if (character === "\b") this.#at = Math.max(0, this.#at - 1);
    else if (character === "\t" || (character >= " " && character !== "\u007f")) {
      while (this.#line.length < this.#at) this.#line.push(" ");
      this.#line[this.#at] = character;
      this.#at += 1;
      if (this.#line.length >= maxLine) this.#break(done);
    }
  }

  #break(done: string[]): void {
    done.push(`${this.#line.join("").trimEnd()}\n`);
    this.#line = [];
    this.#at = 0;
  }

  /** Sequences that move in the line, or erase in it. */
  #move(parameters: string, final: string): void {
    const count = Math.min(Math.max(1, Number.parseInt(parameters, 10) || 1), maxLine);
    if (final === "C") this.#at = Math.min(this.#at + count, maxLine - 1);
    else if (final === "D") this.#at = Math.max(0, this.#at - count);
    else if (final === "G") this.#at = Math.min(count, maxLine) - 1;
    else if (final === "P") this.#line.splice(this.#at, count);
    else if (final === "@") this.#line.splice(this.#at, 0, ...Array.from({ length: Math.min(count, maxLine - this.#line.length) }, () => " "));
    else if (final === "K" && (parameters === "" || parameters === "0")) this.#line.splice(this.#at);
    else if (final === "K" && parameters === "2") this.#line = [];
  }
}
