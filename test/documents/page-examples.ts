import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");
/** Pages for people who use the programs. */
export const pages = ["README.md", "CONTRIBUTING.md", "PROTOCOL.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)].filter(
  (path) => path.endsWith(".md"),
);

/** A fenced block of a page, or a part of one. */
export interface Example {
  /** `docs/roles.md:12`. */
  readonly place: string;
  readonly text: string;
}

export function readPage(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

/** The fenced blocks of a language, without their common indentation. */
export function fencedBlocks(page: string, language: string): readonly Example[] {
  const text = readPage(page);
  return [...text.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\``, "gms"))].map((match) => {
    const lines = (match[2] ?? "").split("\n");
    const indent = Math.min(...lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/)));
    const line = text.slice(0, match.index).split("\n").length + 1;
    return { place: `${page}:${line}`, text: lines.map((one) => one.slice(indent)).join("\n") };
  });
}

/** Code in a page's sentences and tables, between backticks; a table's `\|` is a bar. */
export function inlineCode(page: string): readonly Example[] {
  const text = readPage(page).replaceAll(/^ *```.*?^ *```$/gms, (block) => block.replaceAll(/[^\n]/g, " "));
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => ({
    place: `${page}:${text.slice(0, match.index).split("\n").length}`,
    text: (match[1] ?? "").replaceAll("\\|", "|").replaceAll(/\s+/g, " "),
  }));
}

/** A command of a shell's text, and the text that stands on its standard input. */
export interface ShellCommand {
  readonly words: readonly string[];
  readonly input: string;
}

/** A name for something that the reader puts in: `<session>`. */
const placeholder = /<([a-z][a-z0-9 _-]*)>/gi;

/** The commands of a text for a shell, also those inside of `$(…)`. Words of control (`if`, `for`) are not known. Pure. */
export function shellCommands(text: string): readonly ShellCommand[] {
  return new ShellText(text.replaceAll("\\\n", " ").replaceAll(placeholder, "$1")).commands();
}

class ShellText {
  readonly #text: string;
  #at = 0;
  readonly #found: ShellCommand[] = [];
  #words: string[] = [];
  #word: string | undefined;
  /** Ends of the texts that begin on the next line. */
  readonly #ends: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  commands(): readonly ShellCommand[] {
    while (this.#at < this.#text.length) this.#step();
    this.#endCommand();
    return this.#found;
  }

  #step(): void {
    const rest = this.#text.slice(this.#at);
    const here = /^<<-?'?(\w+)'?/.exec(rest);
    const redirection = /^\d?(>>?|<)&?\s*("[^"]*"|[^\s;|&)]*)/.exec(rest);
    if (rest.startsWith("#") && this.#word === undefined) this.#at += rest.search(/\n|$/);
    else if (here !== null) this.#take(here[0], () => this.#ends.push(here[1] ?? ""));
    else if (redirection !== null && (this.#word === undefined || !/^\d/.test(rest))) this.#take(redirection[0], () => this.#endWord());
    else if (rest.startsWith("$(")) this.#take(this.#substitution(rest), (text) => this.#nest(text));
    else if (rest.startsWith("'")) this.#take(rest.slice(0, rest.indexOf("'", 1) + 1), (text) => this.#add(text.slice(1, -1)));
    else if (rest.startsWith('"')) this.#quoted();
    else this.#plain(rest[0] ?? "");
  }

  #plain(letter: string): void {
    this.#at += 1;
    if (letter === "\n") this.#endLine();
    else if (/[;|&]/.test(letter)) this.#endCommand();
    else if (/\s/.test(letter)) this.#endWord();
    else this.#add(letter);
  }

  #take(text: string, use: (text: string) => void): void {
    this.#at += text.length;
    use(text);
  }

  #quoted(): void {
    this.#at += 1;
    this.#add("");
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"') {
      const rest = this.#text.slice(this.#at);
      if (rest.startsWith("$(")) this.#take(this.#substitution(rest), (text) => this.#nest(text));
      else this.#take(rest.startsWith("\\") ? rest.slice(0, 2) : rest.slice(0, 1), (text) => this.#add(text.slice(-1)));
    }
    this.#at += 1;
  }

  #substitution(rest: string): string {
    let depth = 0;
    for (let at = 0; at < rest.length; at += 1) {
      if (rest[at] === "(") depth += 1;
      if (rest[at] === ")") depth -= 1;
      if (depth === 0 && rest[at] === ")") return rest.slice(0, at + 1);
    }
    throw new Error(`no end of ${rest.slice(0, 40)}`);
  }

  #nest(text: string): void {
    this.#found.push(...shellCommands(text.slice(2, -1)));
    this.#add("substituted");
  }

  #add(text: string): void {
    this.#word = (this.#word ?? "") + text;
  }

  #endWord(): void {
    if (this.#word !== undefined) this.#words.push(this.#word);
    this.#word = undefined;
  }

  #endCommand(input = ""): void {
    this.#endWord();
    // Variables before the command.
    const words = this.#words.slice(this.#words.findIndex((word) => !/^\w+=/.test(word)));
    if (words.length > 0) this.#found.push({ words, input });
    this.#words = [];
  }

  #endLine(): void {
    const end = this.#ends.shift();
    const rest = this.#text.slice(this.#at);
    const length = end === undefined ? 0 : rest.search(new RegExp(`^${end}$`, "m"));
    this.#endCommand(rest.slice(0, length));
    this.#at += length + (end ?? "").length;
  }
}
