import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import { interceptWrites } from "./ssh2/hooks.ts";

/** Maximum buffered bytes: a peer that sends requests without reading the answers is disconnected. Channel data waits far below this. */
const mostQueued = 16 * 1024 * 1024;

/** Time from our last byte to the end of the stream. */
const lingerMs = 3000;

/**
 * Prepares a stream to carry SSH: no Nagle delay, and data written in one tick leaves in one piece.
 * ssh2 writes a packet in up to three parts; together with Nagle that cost 175 ms for each login.
 */
export function tuneStream(stream: Duplex, onBytes: (stream: Duplex, count: number) => void): void {
  if ("setNoDelay" in stream && typeof stream.setNoDelay === "function") stream.setNoDelay(true);
  // Each connection in it listens for its end in several places.
  setMaxListeners(0, stream);
  // Listeners that all streams share: there are thousands of idle ones.
  stream.on("finish", closeInTime).on("end", closeNow).on("close", forgetTimer);
  let corked = false;
  const uncork = (): void => {
    corked = false;
    stream.uncork();
  };
  interceptWrites(stream, (chunk, write) => {
    if (stream.writableLength > mostQueued) {
      stream.destroy();
      return false;
    }
    if (!corked) {
      corked = true;
      stream.cork();
      process.nextTick(uncork);
    }
    onBytes(stream, chunk.length);
    return write(chunk);
  });
}

const lingering = new WeakMap<Duplex, NodeJS.Timeout>();

/** A half-open stream would keep its channels forever. */
function closeInTime(this: Duplex): void {
  lingering.set(
    this,
    setTimeout(() => this.destroy(), lingerMs),
  );
}

/** SSH has no half-close: a peer that has sent everything does not read any more either. */
function closeNow(this: Duplex): void {
  this.destroy();
}

function forgetTimer(this: Duplex): void {
  clearTimeout(lingering.get(this));
}
