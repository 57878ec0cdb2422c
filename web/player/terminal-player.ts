import { batch, signal } from "@preact/signals";
import type { Terminal } from "@xterm/xterm";
import { writeAll } from "../terminal-view/open-terminal.ts";
import { type CastLine, type CastSize, readCastLine } from "./cast-line.ts";
import { advance, otherSpeed, type PlayerKey, step } from "./pace.ts";
import { planSeek, type SeekPoint } from "./plan-seek.ts";
import { type Lines, readLines } from "./read-lines.ts";
import type { RecordingSource } from "./recording-source.ts";

export interface PlayerFacts {
  readonly terminal: Terminal;
  readonly source: RecordingSource;
  readonly points: readonly SeekPoint[];
  /** Length as far as it is known, s. */
  readonly length: number;
}

/** Interval of looking for more of a session that goes on, ms. */
const followMs = 1_000;
/** Maximum text given to the terminal at once, characters. */
const maxBatch = 128 * 1024;
/** Maximum number of sizes of the terminal that are remembered. */
const maxSizes = 1_000;

/** Plays the recording of a terminal. Its signals are what the page shows. */
export class TerminalPlayer {
  readonly position = signal(0);
  readonly length = signal(0);
  readonly isPaused = signal(false);
  readonly speed = signal(1);
  readonly skipsIdle = signal(true);
  /** Where it is: reading or jumping, at the end of what there is, or playing. */
  readonly state = signal<"loading" | "playing" | "end">("loading");
  /** The picture was begun after the beginning, so an old part of it may be missing. */
  readonly isPartial = signal(false);
  readonly isDamaged = signal(false);

  readonly #facts: PlayerFacts;
  #target: number | undefined = 0;
  #reading: AbortController | undefined;
  #parts: AsyncGenerator<Lines> | undefined;
  /** Lines that are read and not shown yet, from `#at` on, and the offset after them. */
  #lines: readonly CastLine[] = [];
  #at = 0;
  #end = 0;
  readonly #sizes: { readonly time: number; readonly size: CastSize }[] = [];
  /** Resolves a wait when the reader does something. */
  #wake: (() => void) | undefined;

  constructor(facts: PlayerFacts) {
    this.#facts = facts;
    this.length.value = facts.length;
  }

  /** Goes to a moment. A later call replaces an earlier one. */
  seek(time: number): void {
    this.#target = Math.min(Math.max(0, time), this.length.value);
    this.#wake?.();
  }

  press(key: PlayerKey): void {
    if (key === "pause") this.setPaused(!this.isPaused.value);
    else if (key === "back") this.seek(this.position.value - step);
    else if (key === "forward") this.seek(this.position.value + step);
    else if (key === "begin") this.seek(0);
    else this.speed.value = otherSpeed(this.speed.value, key);
  }

  /** At the end, playing begins again. */
  setPaused(isPaused: boolean): void {
    if (!isPaused && this.state.value === "end" && this.position.value >= this.length.value) this.seek(0);
    this.isPaused.value = isPaused;
    this.#wake?.();
  }

  /** Plays until the signal aborts. Throws what the source throws. */
  async run(stop: AbortSignal): Promise<void> {
    stop.addEventListener("abort", () => this.#wake?.());
    while (!stop.aborted) {
      if (this.#target !== undefined) await this.#jump(this.#target, stop);
      const passed = await this.#tick();
      if (this.isPaused.value || this.#target !== undefined || stop.aborted) continue;
      if (this.#at < this.#lines.length || (await this.#readMore())) await this.#play(passed);
      else await this.#rest(stop);
    }
  }

  async #play(passed: number): Promise<void> {
    this.state.value = "playing";
    const pace = { speed: this.speed.value, skipsIdle: this.skipsIdle.value };
    const position = advance({ position: this.position.value, next: this.#lines[this.#at]?.time, passed }, pace);
    await this.#showUntil(position);
    this.#moveTo(position);
  }

  #moveTo(position: number): void {
    batch(() => {
      this.position.value = position;
      if (position > this.length.value) this.length.value = position;
    });
  }

  /** Shows the picture of a moment: on from the present one where that is shorter. */
  async #jump(target: number, stop: AbortSignal): Promise<void> {
    this.#target = undefined;
    const { terminal, points } = this.#facts;
    const { point, isWhole } = planSeek(points, target);
    const goesOn = this.#parts !== undefined && target >= this.position.value && point.offset <= this.#end;
    this.state.value = "loading";
    if (!goesOn) {
      this.#begin(point.offset, stop);
      terminal.reset();
      this.isPartial.value = !isWhole;
      const size = this.#sizes.findLast(({ time }) => time <= point.time)?.size;
      if (size !== undefined) terminal.resize(size.columns, size.rows);
    }
    while (!stop.aborted && this.#target === undefined) {
      await this.#showUntil(target);
      if (this.#at < this.#lines.length || !(await this.#readMore())) break;
    }
    if (this.#target === undefined) this.#moveTo(target);
  }

  #begin(from: number, stop: AbortSignal): void {
    this.#reading?.abort();
    this.#reading = new AbortController();
    this.#parts = readLines(this.#facts.source, { from, signal: AbortSignal.any([stop, this.#reading.signal]) });
    [this.#lines, this.#at, this.#end] = [[], 0, from];
  }

  /** Reads the next part; false at the end of what there is. */
  async #readMore(): Promise<boolean> {
    const next = await this.#parts?.next();
    if (next === undefined || next.done === true) return false;
    const { lines, end, isDamaged } = next.value;
    if (isDamaged) this.isDamaged.value = true;
    [this.#lines, this.#at, this.#end] = [lines.flatMap((line) => readCastLine(line) ?? []), 0, end];
    for (const line of this.#lines) if ("size" in line) this.#remember(line);
    return true;
  }

  #remember({ time, size }: { readonly time: number; readonly size: CastSize }): void {
    const last = this.#sizes.at(-1);
    if ((last === undefined || time > last.time) && this.#sizes.length < maxSizes) this.#sizes.push({ time, size });
  }

  /** Shows what the read lines have up to a moment. */
  async #showUntil(position: number): Promise<void> {
    const { terminal } = this.#facts;
    let text = "";
    const flush = async (): Promise<void> => {
      if (text !== "") await writeAll(terminal, text);
      text = "";
    };
    for (let line = this.#lines[this.#at]; line !== undefined && line.time <= position; line = this.#lines[this.#at]) {
      this.#at += 1;
      if ("text" in line) {
        text += line.text;
        if (text.length >= maxBatch) await flush();
        continue;
      }
      await flush();
      terminal.resize(line.size.columns, line.size.rows);
    }
    await flush();
  }

  /** At the end: waits for the reader, or for more of a session that goes on. */
  async #rest(stop: AbortSignal): Promise<void> {
    this.state.value = "end";
    if (!this.#facts.source.isRunning) {
      this.#moveTo(this.length.value);
      this.isPaused.value = true;
      return;
    }
    await this.#wait(followMs);
    // Members are whole lines: reading goes on after the last one.
    if (this.#target === undefined) this.#begin(this.#end, stop);
  }

  /** Waits for the next picture of the page, or while nothing moves until something is done. Time that passed for the reader, s. */
  async #tick(): Promise<number> {
    if (this.isPaused.value && this.#target === undefined) {
      await this.#wait(undefined);
      return 0;
    }
    const begin = performance.now();
    if (document.hidden) await this.#wait(followMs);
    else await new Promise((resolve) => requestAnimationFrame(resolve));
    return (performance.now() - begin) / 1000;
  }

  async #wait(ms: number | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
    this.#wake = undefined;
  }
}
