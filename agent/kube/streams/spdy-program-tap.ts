import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeSpdyData, type SpdyEvent, SpdyReader } from "../../../core/kubernetes/spdy/spdy-reader.ts";
import { Insertion, type ProgramInserts } from "./insertion.ts";
import { endedStatus, SizeText } from "./program-facts.ts";
import type { ProgramEvents, StreamTap } from "./stream-tap.ts";

const roles = ["error", "stdin", "stdout", "stderr", "resize"] as const;
type Role = (typeof roles)[number];

/** Reads the streams of a program in a container over SPDY: each names its role in the header `streamtype`. */
export class SpdyProgramTap implements StreamTap {
  readonly #client = new SpdyReader();
  readonly #server = new SpdyReader();
  readonly #events: ProgramEvents;
  readonly #roles = new Map<number, Role>();
  readonly #sizes = new SizeText();
  /** The program reads what the client types. */
  #hasInput: boolean;
  /** The program shows what it writes. */
  #hasOutput = true;
  #stdin: number | undefined;
  /** From the server's reply on. */
  #stdout: number | undefined;
  readonly inserts: ProgramInserts = {
    typed: new Insertion((bytes) => this.#typed(bytes)),
    shown: new Insertion((bytes) => this.#shown(bytes)),
  };
  #behind: Promise<void> | undefined;
  #hasEnded = false;

  /** `hasInput`: the request asks for standard input. */
  constructor(events: ProgramEvents, hasInput: boolean) {
    this.#hasInput = hasInput;
    this.#events = events;
  }

  fromClient(chunk: Buffer): Promise<void> | undefined {
    return this.#client.take(chunk, (event) => this.#onClient(event));
  }

  fromServer(chunk: Buffer): Promise<void> | undefined {
    const reading = this.#server.take(chunk, (event) => this.#onServer(event));
    const behind = this.#behind;
    this.#behind = undefined;
    if (reading === undefined) return behind;
    return reading.then(async () => {
      await behind;
      await this.#behind;
    });
  }

  farewell(reason: string): Buffer | undefined {
    const error = [...this.#roles].find(([, role]) => role === "error")?.[0];
    return error === undefined || this.#hasEnded || !this.#server.isBetween ? undefined : encodeSpdyData(error, endedStatus(reason), true);
  }

  close(): void {
    this.#client.close();
    this.#server.close();
  }

  #onClient(event: SpdyEvent): void {
    if (event.kind === "open") this.#open(event.stream, event.headers.get("streamtype") ?? "");
    if (isLast(event) && this.#roles.get(event.stream) === "stdin") this.#hasInput = false;
    if (event.kind === "reset") this.#reset(event.stream);
    if (event.kind === "data" && this.#roles.get(event.stream) === "resize") {
      const size = this.#sizes.take(event.bytes);
      if (size !== undefined) this.#events.onResize(size);
    }
  }

  #open(stream: number, type: string): void {
    const role = roles.find((one) => one === type.toLowerCase());
    const isTwice = role === undefined || this.#roles.has(stream) || [...this.#roles.values()].includes(role);
    if (role === undefined || isTwice) throw new PlatformError("invalid", "the client opened a stream without a role, or with one that is taken");
    this.#roles.set(stream, role);
    if (role === "stdin") this.#stdin = stream;
  }

  #reset(stream: number): void {
    const role = this.#roles.get(stream);
    if (role === "stdin") this.#hasInput = false;
    if (role === "stdout") this.#hasOutput = false;
  }

  #typed(bytes: Buffer): Buffer | "later" | undefined {
    if (!this.#hasInput) return undefined;
    return this.#stdin === undefined || !this.#client.isBetween ? "later" : encodeSpdyData(this.#stdin, bytes, false);
  }

  #shown(bytes: Buffer): Buffer | "later" | undefined {
    if (!this.#hasOutput) return undefined;
    return this.#stdout === undefined || !this.#server.isBetween ? "later" : encodeSpdyData(this.#stdout, bytes, false);
  }

  #onServer(event: SpdyEvent): void {
    const role = this.#roles.get(event.stream);
    if (event.kind === "reset") this.#reset(event.stream);
    if (role === "stdout") {
      this.#stdout = event.stream;
      if (isLast(event)) this.#hasOutput = false;
    }
    if (event.kind !== "data") return;
    if (role === "stdout" || role === "stderr") {
      if (event.bytes.length > 0) this.#behind = this.#events.onOutput(event.bytes) ?? this.#behind;
    } else if (role === "error") this.#onError(event.bytes, event.isLast);
    else if (event.bytes.length > 0) throw new PlatformError("invalid", "the API server sent data on a stream that is not open");
  }

  #onError(bytes: Buffer, isLast: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = isLast;
    this.#events.onStatus(bytes);
  }
}

function isLast(event: SpdyEvent): boolean {
  return event.kind !== "reset" && event.isLast;
}
