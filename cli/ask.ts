import { PlatformError } from "../core/errors/platform-error.ts";
import type { CliIo } from "./io.ts";
import { readInput } from "./read-input.ts";
import { enterRawMode } from "./terminal.ts";

/** Maximum length of an answer, in characters. */
const maxAnswer = 4096;

/**
 * Prompts for secrets one after the other: without echo on a terminal, as lines of standard input otherwise.
 * Throws `invalid` when the input ends before every prompt has its answer, `unavailable` when Ctrl-C ended it.
 */
export async function askSecrets(io: CliIo, questions: readonly string[]): Promise<readonly string[]> {
  if (io.stdin.isTTY !== true) return await readLines(io, questions);
  const leave = enterRawMode(io.stdin);
  const answers: string[] = [];
  const typed = new Typed();
  try {
    for (const question of questions) {
      io.stderr.write(`${question}: `);
      answers.push(await answer(io, typed));
      io.stderr.write("\n");
    }
    return answers;
  } finally {
    leave();
    io.stdin.pause();
  }
}

/** Typed characters that are not consumed yet: a paste may hold several lines. */
class Typed {
  rest = "";
}

function answer(io: CliIo, typed: Typed): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const finish = (settle: () => void): void => {
      io.stdin.off("data", onData).off("end", onEnd).off("error", onError).pause();
      settle();
    };
    const refuse = (message: string): void => {
      io.stderr.write("\n");
      finish(() => reject(new PlatformError("invalid", message)));
    };
    const onEnd = (): void => refuse("the input ended before the answer");
    const onError = (cause: Error): void => refuse(`could not read from the terminal: ${cause.message}`);
    const take = (character: string): boolean => {
      if (character === "\r" || character === "\n") {
        finish(() => resolve(text));
        return true;
      }
      if (character === "\u0003") {
        refuse("stopped by Ctrl-C");
        return true;
      }
      if (character === "\u0004" && text === "") {
        onEnd();
        return true;
      }
      text = edited(text, character);
      if (text.length <= maxAnswer) return false;
      refuse("the answer is too long");
      return true;
    };
    const onData = (chunk: Buffer | string): void => {
      const characters = [...(typed.rest + chunk.toString())];
      typed.rest = "";
      const last = characters.findIndex(take);
      if (last >= 0) typed.rest = characters.slice(last + 1).join("");
    };
    io.stdin.on("data", onData).on("end", onEnd).on("error", onError).resume();
    if (typed.rest !== "") onData("");
  });
}

/** Backspace, Ctrl-U and Ctrl-W work as on every prompt; other control characters are dropped. */
function edited(text: string, character: string): string {
  if (character === "\u007f" || character === "\b") return [...text].slice(0, -1).join("");
  if (character === "\u0015" || character === "\u0017") return "";
  return character < " " ? text : text + character;
}

/** The first lines of a pipe, without line endings. */
async function readLines(io: CliIo, questions: readonly string[]): Promise<readonly string[]> {
  const input = await readInput(io.stdin, (all, length) => {
    if (length > maxAnswer * questions.length) throw new PlatformError("invalid", "standard input is too long");
    return countLines(all) >= questions.length;
  });
  const lines = input
    .toString("utf8")
    .split("\n")
    .map((line) => line.replace(/\r$/, ""));
  const missing = questions.findIndex((_question, index) => (lines[index] ?? "") === "");
  if (missing < 0) return lines.slice(0, questions.length);
  throw new PlatformError("invalid", `standard input has no line for: ${questions[missing]}`, {
    hint: `give ${questions.length} lines (${questions.join(", ")}), or use a terminal`,
  });
}

function countLines(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.filter((byte) => byte === 10).length, 0);
}
