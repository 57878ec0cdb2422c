import type { CliIo } from "../io.ts";
import { printable, writeTransient } from "../output.ts";

/** How often the line is redrawn, ms. */
const pauseMs = 200;

/** The progress of a copy on one line of a terminal. Its cost per piece is negligible, whether shown or not. */
export class CopyMeter {
  readonly #io: CliIo;
  readonly #isShown: boolean;
  readonly #now: () => number;
  readonly #start: number;
  #shownAt = 0;
  #files = 0;
  #name = "";
  /** Totals of all files that have begun. */
  #total = 0;
  #there = 0;
  #moved = 0;

  constructor(io: CliIo, { isShown, now = () => performance.now() }: { readonly isShown: boolean; readonly now?: () => number }) {
    this.#io = io;
    this.#isShown = isShown;
    this.#now = now;
    this.#start = now();
  }

  begin(name: string, size: number): void {
    this.#files += 1;
    this.#name = name;
    this.#total += size;
  }

  moved(count: number, isThere = false): void {
    if (isThere) this.#there += count;
    else this.#moved += count;
    const now = this.#now();
    if (!this.#isShown || now - this.#shownAt < pauseMs) return;
    this.#shownAt = now;
    writeTransient(this.#io, this.#line(now));
  }

  clear(): void {
    if (this.#isShown) writeTransient(this.#io, "");
  }

  /** The last line stays. */
  finish(): void {
    if (!this.#isShown || this.#files === 0) return;
    writeTransient(this.#io, this.#line(this.#now()), true);
  }

  #line(now: number): string {
    const seconds = Math.max((now - this.#start) / 1000, 0.001);
    return meterLine({
      name: printable(this.#name),
      files: this.#files,
      total: this.#total,
      done: this.#there + this.#moved,
      rate: this.#moved / seconds,
      seconds,
      columns: this.#io.stderr.columns ?? 80,
    });
  }
}

export interface MeterFacts {
  readonly name: string;
  readonly files: number;
  readonly total: number;
  readonly done: number;
  /** Bytes a second. */
  readonly rate: number;
  readonly seconds: number;
  readonly columns: number;
}

/** `name  45%  123 MB  50.1 MB/s  00:12`: with the time left for one file, with the elapsed time for several. */
export function meterLine({ name, files, total, done, rate, seconds, columns }: MeterFacts): string {
  const percent = total === 0 ? 100 : Math.min(Math.floor((done / total) * 100), 100);
  const isOne = files === 1;
  const time = isOne && done < total && rate > 0 ? `${clock((total - done) / rate)} left` : clock(seconds);
  const figures = isOne ? `${percent}%  ${amount(done)}  ${amount(rate)}/s  ${time}` : `${files} files  ${amount(done)}  ${amount(rate)}/s  ${time}`;
  const room = Math.max(columns - 1 - figures.length - 2, 8);
  const shown = name.length > room ? `…${name.slice(name.length - room + 1)}` : name.padEnd(Math.min(room, 40));
  return `${shown}  ${figures}`;
}

const units = ["B", "kB", "MB", "GB", "TB"] as const;

function amount(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ""}`;
}

function clock(seconds: number): string {
  const whole = Math.min(Math.round(seconds), 359_999);
  const two = (value: number): string => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const rest = `${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}
