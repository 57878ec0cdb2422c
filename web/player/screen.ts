import type { Terminal } from "@xterm/xterm";
import { writeAll } from "../terminal-view/open-terminal.ts";
import type { CastSize } from "./cast-line.ts";
import { drawBuffer } from "./draw-buffer.ts";
import { type InsideState, takeInside } from "./terminal-inside.ts";
import { unfinishedEscape } from "./text-search.ts";

/** Rows above the screen that a state keeps. */
const scrollback = 500;
/** The same in bytes, about, besides the drawn rows. */
const insideBytes = 2_000;

/** State of the player's terminal at a moment. */
export interface ScreenState {
  readonly size: CastSize;
  /** What it holds, bytes. */
  readonly bytes: number;
  /** Output that draws the rows of the usual buffer, and those of the alternate one while that is in use. */
  readonly drawn: readonly Uint8Array[];
  readonly inside: InsideState;
}

/** The player's terminal, whose state can be saved and restored. */
export class Screen {
  readonly #terminal: Terminal;
  /** The output ends within a sequence, or within a character. */
  #isUnfinished = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Resolves when the terminal has taken it. */
  async write(text: string): Promise<void> {
    await writeAll(this.#terminal, text);
    this.#isUnfinished = unfinishedEscape(text) !== "" || /[\ud800-\udbff]$/.test(text);
  }

  resize({ columns, rows }: CastSize): void {
    this.#terminal.resize(columns, rows);
  }

  /** Shows nothing, as a new terminal does. */
  clear(): void {
    this.#terminal.reset();
    this.#isUnfinished = false;
  }

  /** The present state; undefined in the middle of a sequence. */
  take(): ScreenState | undefined {
    if (this.#isUnfinished) return undefined;
    const { cols: columns, rows, buffer } = this.#terminal;
    const encoder = new TextEncoder();
    const drawn = (buffer.active.type === "normal" ? [buffer.normal] : [buffer.normal, buffer.alternate]).map((one) =>
      encoder.encode(drawBuffer(one, { from: Math.max(0, one.baseY - scrollback), to: one.baseY + rows, columns })),
    );
    const bytes = drawn.reduce((sum, { length }) => sum + length, insideBytes);
    return { size: { columns, rows }, bytes, drawn, inside: takeInside(this.#terminal) };
  }

  async put({ size, drawn: [normal, alternate], inside }: ScreenState): Promise<void> {
    this.clear();
    this.resize(size);
    if (normal !== undefined) await writeAll(this.#terminal, normal);
    if (alternate !== undefined) {
      await writeAll(this.#terminal, "\u001b[?1049h\u001b[H");
      await writeAll(this.#terminal, alternate);
    }
    inside.putInto(this.#terminal);
    this.#terminal.refresh(0, size.rows - 1);
  }
}
