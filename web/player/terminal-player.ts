import { batch, signal } from "@preact/signals";
import { CastReader } from "./cast-reader.ts";
import { Keyframes } from "./keyframes.ts";
import { advance, otherSpeed, type PlayerKey, step } from "./pace.ts";
import { planSeek, type SeekPoint } from "./plan-seek.ts";
import type { RecordingSource } from "./recording-source.ts";
import type { Screen } from "./screen.ts";

export interface PlayerFacts {
  readonly screen: Screen;
  readonly source: RecordingSource;
  readonly points: readonly SeekPoint[];
  /** Length as far as it is known, s. */
  readonly length: number;
  /** Resolves when the page is drawn next, or after a while where nobody sees it. */
  readonly nextFrame: () => Promise<void>;
  /** Whether the session went on when the page was loaded. */
  readonly isRunning: boolean;
}

/** Interval of looking for more of a session that goes on, ms. */
const followMs = 1_000;
/** Maximum text given to the terminal at once, characters. */
const maxBatch = 128 * 1024;

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
  /** The end of a session that goes on is shown as it comes. */
  readonly isFollowing = signal(false);
  /** Of a whole picture, which takes long: the part that is done, from 0 to 1. */
  readonly progress = signal<number | undefined>(undefined);
  /** Whether there will be more, as far as it is known. */
  readonly isRunning = signal(false);

  readonly #facts: PlayerFacts;
  readonly #reader: CastReader;
  readonly #keyframes = new Keyframes();
  #target: number | undefined = 0;
  /** The next picture is made from all output before it. */
  #isWhole = false;
  /** Of what is shown: the time of the last line, s, and the number of characters if nothing is missing. */
  #time = 0;
  #shown = 0;
  /** Resolves a wait when the reader does something. */
  #wake: (() => void) | undefined;

  constructor(facts: PlayerFacts) {
    this.#facts = facts;
    this.#reader = new CastReader(facts.source);
    this.length.value = facts.length;
    this.isRunning.value = facts.isRunning;
  }

  /** Goes to a moment. A later call replaces an earlier one. */
  seek(time: number): void {
    this.isFollowing.value = false;
    this.#jumpTo(Math.min(Math.max(0, time), this.length.value));
  }

  /** Shows the present picture again, from all output before it: that may take long. */
  showWhole(): void {
    this.#isWhole = true;
    this.#jumpTo(this.position.value);
  }

  /** Goes to the present end of a session that goes on, and stays there. */
  follow(): void {
    batch(() => {
      this.isFollowing.value = true;
      this.isPaused.value = false;
    });
    this.#jumpTo(Number.POSITIVE_INFINITY);
  }

  press(key: Exclude<PlayerKey, "older" | "newer">): void {
    if (key === "pause") this.setPaused(!this.isPaused.value);
    else if (key === "back") this.seek(this.position.value - step);
    else if (key === "forward") this.seek(this.position.value + step);
    else if (key === "begin") this.seek(0);
    else if (key === "end" && this.isRunning.value) this.follow();
    else if (key === "end") this.seek(this.length.value);
    else this.speed.value = otherSpeed(this.speed.value, key);
  }

  /** At the end, playing begins again. */
  setPaused(isPaused: boolean): void {
    if (!isPaused && this.state.value === "end" && !this.isRunning.value && this.position.value >= this.length.value) this.seek(0);
    if (isPaused) this.isFollowing.value = false;
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
      if (this.#reader.next !== undefined || (await this.#readMore())) await this.#play(passed);
      else await this.#rest(stop);
    }
  }

  #jumpTo(target: number): void {
    this.#target = target;
    this.#wake?.();
  }

  async #play(passed: number): Promise<void> {
    this.state.value = "playing";
    const pace = { speed: this.speed.value, skipsIdle: this.skipsIdle.value };
    const position = advance({ position: this.position.value, next: this.#reader.next?.time, passed }, pace);
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
    const isWhole = this.#isWhole;
    [this.#target, this.#isWhole] = [undefined, false];
    const goal = isWhole ? this.#facts.points.findLast(({ time }) => time <= target)?.offset : undefined;
    await this.#prepare(target, { isWhole, stop });
    while (!stop.aborted && this.#target === undefined) {
      await this.#showUntil(target);
      if (this.#reader.next !== undefined || !(await this.#readMore())) break;
      if (goal !== undefined) this.progress.value = Math.min(1, (this.#reader.end ?? 0) / Math.max(1, goal));
    }
    this.progress.value = undefined;
    if (this.#target === undefined) this.#moveTo(Number.isFinite(target) ? target : Math.max(this.#time, this.position.value));
  }

  /** Brings the terminal to a state from which showing the output up to a moment makes its picture. */
  async #prepare(target: number, { isWhole, stop }: { readonly isWhole: boolean; readonly stop: AbortSignal }): Promise<void> {
    const { screen, points } = this.#facts;
    const { end: offset } = this.#reader;
    const present = offset === undefined ? undefined : { offset, time: this.#time, isPartial: this.isPartial.value };
    const plan = planSeek({ target, points, keyframe: this.#keyframes.before(target), present, isWhole });
    if (plan.from !== "present" || Number.isFinite(target)) this.state.value = "loading";
    if (plan.from === "present") {
      // What was read to its end may have grown.
      if (offset !== undefined && this.#reader.next === undefined) this.#reader.begin(offset, stop);
      return;
    }
    if (plan.from === "keyframe") {
      const { keyframe } = plan;
      this.#reader.begin(keyframe.offset, stop);
      [this.#time, this.#shown, this.isPartial.value] = [keyframe.time, keyframe.shown, false];
      return await screen.put(keyframe.state);
    }
    const { point, isPartial } = plan;
    this.#reader.begin(point.offset, stop);
    [this.#time, this.#shown, this.isPartial.value] = [point.time, 0, isPartial];
    screen.clear();
    const size = this.#reader.sizeAt(point.time);
    if (size !== undefined) screen.resize(size);
  }

  /** Reads the next part; false at the end of what there is. All lines before it are shown. */
  async #readMore(): Promise<boolean> {
    const { source, screen } = this.#facts;
    const { end: offset = 0 } = this.#reader;
    if (!this.isPartial.value) this.#keyframes.offer({ offset, time: this.#time, shown: this.#shown }, () => screen.take());
    const hasMore = await this.#reader.more();
    this.isRunning.value = source.isRunning;
    if (this.#reader.isDamaged) this.isDamaged.value = true;
    return hasMore;
  }

  /** Shows what the read lines have up to a moment. */
  async #showUntil(position: number): Promise<void> {
    const { screen } = this.#facts;
    let text = "";
    const flush = async (): Promise<void> => {
      if (text !== "") await screen.write(text);
      this.#shown += text.length;
      text = "";
    };
    for (let line = this.#reader.take(position); line !== undefined; line = this.#reader.take(position)) {
      this.#time = line.time;
      if ("text" in line) {
        text += line.text;
        if (text.length >= maxBatch) await flush();
        continue;
      }
      await flush();
      screen.resize(line.size);
    }
    await flush();
  }

  /** At the end: waits for the reader, or for more of a session that goes on. */
  async #rest(stop: AbortSignal): Promise<void> {
    this.state.value = "end";
    if (!this.isRunning.value) {
      this.#moveTo(this.length.value);
      [this.isPaused.value, this.isFollowing.value] = [true, false];
      return;
    }
    await this.#wait(followMs);
    if (this.#target !== undefined) return;
    // Members are whole lines: reading goes on after the last one.
    if (this.isFollowing.value) this.#target = Number.POSITIVE_INFINITY;
    else this.#reader.begin(this.#reader.end ?? 0, stop);
  }

  /** Waits for the next picture of the page, or while nothing moves until something is done. Time that passed for the reader, s. */
  async #tick(): Promise<number> {
    if (this.isPaused.value && this.#target === undefined) {
      await this.#wait(undefined);
      return 0;
    }
    const begin = performance.now();
    await this.#facts.nextFrame();
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
