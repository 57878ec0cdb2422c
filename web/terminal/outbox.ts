/** The part of a WebSocket that takes bytes. */
export interface ByteSink {
  readonly bufferedAmount: number;
  readonly readyState: number;
  send(bytes: Uint8Array<ArrayBuffer>): void;
}

/** Size of one message, and most bytes that wait in the browser's own buffer. */
const [messageBytes, mostBuffered] = [16_384, 131_072] as const;
/** Interval at which a full buffer is looked at again, ms. */
const againMs = 20;
/** Most bytes that wait here: what is pasted beyond them is not sent. */
const mostWaiting = 64 * 1024 * 1024;
const open = 1;

/** Bytes on their way to the proxy: in messages of a bounded size, and no faster than the proxy takes them. */
export class Outbox {
  readonly #sink: ByteSink;
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];
  #waiting = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(sink: ByteSink) {
    this.#sink = sink;
  }

  /** Bytes that are not sent yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** False: it is too much, and none of it will be sent. */
  push(bytes: Uint8Array<ArrayBuffer>): boolean {
    if (this.#waiting + bytes.length > mostWaiting) return false;
    for (let at = 0; at < bytes.length; at += messageBytes) this.#parts.push(bytes.subarray(at, at + messageBytes));
    this.#waiting += bytes.length;
    if (this.#timer === undefined) this.#send();
    return true;
  }

  /** Drops what was not sent. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#parts.length = 0;
    this.#waiting = 0;
  }

  #send(): void {
    this.#timer = undefined;
    const sink = this.#sink;
    if (sink.readyState !== open) {
      this.close();
      return;
    }
    let sent = 0;
    while (sent < this.#parts.length && sink.bufferedAmount < mostBuffered) {
      const part = this.#parts[sent];
      if (part === undefined) break;
      sink.send(part);
      this.#waiting -= part.length;
      sent += 1;
    }
    this.#parts.splice(0, sent);
    if (this.#parts.length > 0) this.#timer = setTimeout(() => this.#send(), againMs);
  }
}
