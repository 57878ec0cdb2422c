import { uploadWindow } from "../../../../core/api/web/files.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { SocketInbox } from "../api/socket-inbox.ts";
import type { IncomingFile } from "./write-file.ts";

export interface ReceiveFacts {
  readonly inbox: SocketInbox;
  readonly signal: AbortSignal;
  readonly size: number;
  /** Called with the bytes that the host has so far, every so often. */
  readonly written: (bytes: number) => void;
}

/** Bytes after which the browser is notified. */
const reportBytes = uploadWindow / 4;
/** Time without a byte from the browser, or without an answer of the host, ms. */
const quietMs = 60_000;

/**
 * Writes what a browser sends, `size` bytes. The browser is not read while more than a window is on its way to the host. Throws `invalid` for anything else,
 * `timeout` when nothing moves for a minute, the host's refusal, and the signal's reason.
 */
export async function receiveFile(file: Pick<IncomingFile, "write">, { inbox, signal, size, written }: ReceiveFacts): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const timer = setTimeout(() => reject(new PlatformError("timeout", `nothing was transferred for ${quietMs / 1000} s`)), quietMs);
  let [arrived, stored, reported] = [0, 0, 0];
  const took = (count: number): void => {
    timer.refresh();
    stored += count;
    if (stored - reported >= reportBytes) {
      reported = stored;
      written(stored);
    }
    if (stored === size) resolve();
    else if (arrived - stored <= uploadWindow / 2) inbox.release();
  };
  inbox.follow(({ isBinary, data }) => {
    if (!isBinary || data.length === 0 || arrived + data.length > size) {
      reject(new PlatformError("invalid", "the browser sent something other than the bytes of the file"));
      return;
    }
    arrived += data.length;
    if (arrived - stored > uploadWindow) inbox.hold();
    file.write(data, (failure) => (failure === undefined ? took(data.length) : reject(failure)));
  });
  if (size === 0) resolve();
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    inbox.forget();
  }
}
