import type { UploadAsk, UploadNotice } from "../../core/api/web/files.ts";
import { CallError } from "../api/request.ts";

export interface UploadFacts {
  readonly file: Blob;
  readonly ask: UploadAsk;
  /** Of this page's session. */
  readonly token: string;
  /** Called with the bytes that the host has. */
  readonly progress: (bytes: number) => void;
  /** Aborted: the upload ends, and leaves nothing on the host. */
  readonly signal: AbortSignal;
}

/** Size of a message, bytes; the page reads as many of the file at a time as it may be ahead of the host. */
const messageBytes = 65_536;
/** Most bytes beyond those that the host has (`uploadWindow` in core/api/web/files.ts). */
const mostAhead = 1_048_576;
/** Time in which something must move, ms. */
const quietMs = 90_000;

/** Stores a file on a host. Returns its path there; throws CallError. Memory is bounded: no more than a window of the file is held. */
export async function uploadFile({ file, ask, token, progress, signal }: UploadFacts): Promise<string> {
  const socket = new WebSocket(`wss://${location.host}/webapi/v1/files/upload`);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let isAsked = false;
  /** With the last byte on its way, the host may have stored the file. */
  const hint = (): string | undefined => (isAsked && sender.isAtEnd ? "look whether the file is there before you send it again" : undefined);
  const abort = (): void => reject(new CallError("unavailable", "the upload was cancelled", hint()));
  const sender = new Sender(file, socket, (thrown) => reject(thrown));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const moved = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => reject(new CallError("timeout", `nothing was transferred for ${quietMs / 1000} s`, hint())), quietMs);
  };
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ token }));
    socket.send(JSON.stringify(ask));
    isAsked = true;
  });
  socket.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    moved();
    const notice = JSON.parse(String(data)) as UploadNotice;
    if (notice.type === "stored") resolve(notice.path);
    else if (notice.type === "error") reject(refused(notice.error, hint()));
    else {
      const bytes = notice.type === "written" ? notice.bytes : 0;
      progress(bytes);
      sender.sendUpTo(bytes + mostAhead);
    }
  });
  socket.addEventListener("close", () => reject(lost(hint())));
  moved();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    sender.stop();
    socket.close();
  }
}

/** The proxy's error. `hint`: for one that leaves open whether the host has stored the file. */
function refused({ code, message, hint: own }: Extract<UploadNotice, { type: "error" }>["error"], hint: string | undefined): CallError {
  return new CallError(code, message, own ?? (code === "unavailable" || code === "timeout" ? hint : undefined));
}

function lost(hint: string | undefined): CallError {
  if (hint !== undefined) return new CallError("unavailable", "the connection was lost before the host answered", hint);
  return new CallError("unavailable", "the connection was lost: the file was not stored", "send it again");
}

/** Sends a file as far as it is allowed to. */
class Sender {
  readonly #file: Blob;
  readonly #socket: WebSocket;
  readonly #failed: (thrown: CallError) => void;
  #allowed = 0;
  #sent = 0;
  #isSending = false;
  #isStopped = false;

  constructor(file: Blob, socket: WebSocket, failed: (thrown: CallError) => void) {
    this.#file = file;
    this.#socket = socket;
    this.#failed = failed;
  }

  get isAtEnd(): boolean {
    return this.#sent === this.#file.size;
  }

  sendUpTo(bytes: number): void {
    this.#allowed = Math.min(bytes, this.#file.size);
    if (this.#isSending) return;
    this.#isSending = true;
    this.#send().then(
      () => {
        this.#isSending = false;
      },
      // A file that was changed or removed since it was chosen cannot be read.
      () => this.#failed(new CallError("conflict", "the file could not be read: it may have changed", "choose it again")),
    );
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #send(): Promise<void> {
    while (this.#sent < this.#allowed) {
      const part = new Uint8Array(await this.#file.slice(this.#sent, this.#allowed).arrayBuffer());
      if (this.#isStopped) return;
      for (let at = 0; at < part.length; at += messageBytes) this.#socket.send(part.subarray(at, at + messageBytes));
      this.#sent += part.length;
    }
  }
}
