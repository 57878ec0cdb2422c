import { encodeCastEvent, encodeCastHeader } from "../recording/cast.ts";
import { TerminalText } from "../recording/terminal-text.ts";
import type { RecordingFacts } from "../resources/recording.ts";
import { RecordingFile } from "./recording-file.ts";
import type { NewRecording } from "./recording-spool.ts";

export interface TerminalFacts extends Pick<NewRecording<TerminalWriter>, "onFailed"> {
  readonly facts: RecordingFacts;
  readonly term: string;
  readonly size: { readonly columns: number; readonly rows: number };
}

/** Longest text of one event, bytes: JSON may make it six times as long. */
const eventBytes = 64 * 1024;

/** Output between two mentions of the size, bytes: a player that begins anywhere soon knows it. */
const sizeBytes = 1024 * 1024;

/** The recording of a terminal, as asciicast. */
export function terminalRecording({ facts, term, size, onFailed }: TerminalFacts): NewRecording<TerminalWriter> {
  const timestamp = Math.floor(Date.parse(facts.started) / 1000);
  const header = encodeCastHeader({ width: size.columns, height: size.rows, timestamp, term, platform: facts });
  return { facts, onFailed, open: async (options) => new TerminalWriter(await RecordingFile.open(options, { lines: [header] }), size) };
}

/** Writes the output of one terminal into a file, as it comes. It never sees the input. */
export class TerminalWriter {
  readonly #file: RecordingFile;
  readonly #began = performance.now();
  readonly #text = new TerminalText();

  #size: TerminalFacts["size"];
  /** The one that was mentioned last. */
  #known: TerminalFacts["size"];
  /** Output since the size was mentioned, bytes. */
  #shown = 0;

  constructor(file: RecordingFile, size: TerminalFacts["size"]) {
    this.#file = file;
    this.#size = size;
    this.#known = size;
  }

  /** Records output. If it returns a promise, wait for it before more. */
  show(chunk: Buffer): Promise<void> | undefined {
    this.#mentionNewSize();
    this.#shown += chunk.length;
    if (this.#shown >= sizeBytes) this.#mentionSize();
    for (let at = 0; at < chunk.length; at += eventBytes) this.#event("o", this.#text.take(chunk.subarray(at, at + eventBytes)));
    return this.#file.whenBehind();
  }

  /** Recorded before the next output, or at the end: a client may change it as often as it likes, and is not held up. */
  resize(columns: number, rows: number): void {
    this.#size = { columns, rows };
  }

  /** Ends the recording, with all of it on disk if possible. Never throws. */
  async end(): Promise<void> {
    this.#mentionNewSize();
    this.#event("o", this.#text.end());
    await this.#file.end();
  }

  #mentionNewSize(): void {
    if (this.#size.columns !== this.#known.columns || this.#size.rows !== this.#known.rows) this.#mentionSize();
  }

  #mentionSize(): void {
    this.#known = this.#size;
    this.#shown = 0;
    this.#event("r", `${this.#size.columns}x${this.#size.rows}`);
  }

  #event(kind: string, data: string): void {
    if (data !== "") this.#file.add(encodeCastEvent({ time: (performance.now() - this.#began) / 1000, kind, data }));
  }
}
