import { setTimeout as sleep } from "node:timers/promises";
import type { CastEvent } from "../../../core/recording/cast.ts";
import { terminalBytes } from "../../../core/recording/terminal-text.ts";
import type { CliIo } from "../../io.ts";
import { write } from "../../output.ts";
import { enterRawMode } from "../../terminal.ts";
import { afterKey, keysOf, type Playback } from "./playback.ts";

/** What can be played. */
export interface ShownTape {
  /** Time of the last event, seconds. */
  readonly length: number;
  /** From the beginning; times never decrease. */
  events(): Generator<CastEvent>;
}

export interface ShowAsk {
  readonly speed: number;
  /** Seconds into the recording: the part before is shown at once. */
  readonly from: number;
}

/** Resets the terminal: screen, colours, modes. */
const reset = "\u001bc";
/** Longest wait of a timer, ms: it checks again after that. */
const longestMs = 86_400_000;

/** Plays on a terminal at the recording's pace, with keys; anywhere else all at once. Ends when the reader leaves. Throws `unavailable`. */
export async function showTape(tape: ShownTape, ask: ShowAsk, io: CliIo): Promise<void> {
  if (io.stdout.isTTY !== true) {
    for (const event of tape.events()) if (!(await show(event, io))) return;
    return;
  }
  const player = new Player(tape, ask);
  const onTyped = (chunk: Buffer | string): void => player.type(chunk.toString());
  const leave = enterRawMode(io.stdin);
  io.stdin.on("data", onTyped);
  try {
    while ((await player.play((event) => show(event, io))) === "again") if (!(await write(io.stdout, reset))) return;
  } finally {
    io.stdin.off("data", onTyped);
    leave();
    io.stdin.pause();
  }
}

class Player {
  readonly #tape: ShownTape;
  #playback: Playback;
  #last = performance.now();
  #isBack = false;
  #typed = new AbortController();

  constructor(tape: ShownTape, { speed, from }: ShowAsk) {
    this.#tape = tape;
    this.#playback = { position: from, speed, isPaused: false, isOver: false };
  }

  /** Applies the typed keys; a step back restarts from the beginning. */
  type(text: string): void {
    this.#advance();
    for (const key of keysOf(text)) {
      const next = afterKey(this.#playback, key, this.#tape.length);
      this.#isBack ||= next.position < this.#playback.position;
      this.#playback = next;
    }
    this.#typed.abort();
  }

  /** Shows the part that is due from the beginning, and the rest in time, as long as there is a reader. */
  async play(showEvent: (event: CastEvent) => Promise<boolean>): Promise<"again" | "over"> {
    this.#isBack = false;
    for (const event of this.#tape.events()) {
      await this.#until(event.time);
      if (this.#playback.isOver) return "over";
      if (this.#isBack) return "again";
      if (!(await showEvent(event))) return "over";
    }
    return "over";
  }

  async #until(time: number): Promise<void> {
    for (this.#advance(); !this.#playback.isOver && !this.#isBack; this.#advance()) {
      const { isPaused, position, speed } = this.#playback;
      if (position >= time) return;
      const waitMs = isPaused ? longestMs : Math.min(((time - position) / speed) * 1000, longestMs);
      this.#typed = new AbortController();
      await sleep(waitMs, undefined, { signal: this.#typed.signal }).catch(() => {});
    }
  }

  #advance(): void {
    const now = performance.now();
    const { isPaused, position, speed } = this.#playback;
    if (!isPaused) this.#playback = { ...this.#playback, position: position + ((now - this.#last) / 1000) * speed };
    this.#last = now;
  }
}

/** Shows everything, at the pace of the reader, until it leaves. Throws `unavailable`. */
export async function printAll(parts: Iterable<string>, io: CliIo): Promise<void> {
  for (const part of parts) if (!(await write(io.stdout, part))) return;
}

/** Whether the reader is still there. */
async function show({ kind, data }: CastEvent, io: CliIo): Promise<boolean> {
  return kind !== "o" || (await write(io.stdout, terminalBytes(data)));
}
