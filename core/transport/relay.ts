import type { Duplex } from "node:stream";
import { limitStuck, type StuckLimit } from "./limit-stuck.ts";
import { type Gate, pour } from "./pour.ts";

export interface RelayOptions {
  readonly signal?: AbortSignal;
  /** For a side that still has to take what came from one that has closed; default: 5 minutes. */
  readonly stuckMs?: number;
  /** What `a` gets at the end when `b` ends or is lost before `a` has ended; undefined: nothing. `latest`: the last bytes that `a` has sent, up to `latestBytes`. */
  readonly lastWords?: ((latest: Buffer) => Buffer | undefined) | undefined;
  /** Looks at each chunk from `a`: the bytes of the promise go to `b` in its place, and what is behind it waits for that. Undefined: it goes at once. Never rejects. */
  readonly look?: Gate["look"] | undefined;
}

const latestBytes = 16;
/** Time for a peer to take the last words, ms. */
const lastMs = 3_000;

/**
 * Copies bytes both ways between two streams until both directions have ended, and then destroys both.
 * The end of one direction is passed on alone (half-close); an error, a peer that vanishes or the signal ends everything. Of a peer that closes after
 * its own end, everything is delivered first, as long as the other side takes some of it within `stuckMs`, and again within that time.
 * Never throws: a broken connection is an ordinary end here, reported by `errored` of the streams. On each stream one listener
 * stays, which keeps late errors from ending the process.
 */
export function relay(a: Duplex, b: Duplex, options: RelayOptions = {}): Promise<void> {
  const { signal, stuckMs, lastWords, look } = options;
  return new Promise((resolve) => {
    let directions = 2;
    const stops: (() => void)[] = [];
    const finish = (): void => {
      signal?.removeEventListener("abort", finish);
      for (const stop of stops.splice(0)) stop();
      a.destroy();
      b.destroy();
      resolve();
    };
    const latest = lastWords === undefined ? undefined : followLatest(a);
    if (latest !== undefined) stops.push(latest.stop);
    const words = (): Buffer | undefined =>
      latest === undefined || a.destroyed || a.writableEnded || a.readableEnded ? undefined : lastWords?.(latest.bytes());
    const broken = (): void => {
      const last = words();
      if (last === undefined) {
        finish();
        return;
      }
      for (const stop of stops.splice(0)) stop();
      b.destroy();
      stops.push(endWith(a, last, finish));
    };
    const ended = (): void => {
      directions -= 1;
      if (directions === 0) finish();
    };
    for (const stream of [a, b]) {
      // Node reads it when the peer has ended: for any stream, its other half stays open.
      stream.allowHalfOpen = true;
      stream.on("error", ignoreError);
    }
    if (signal?.aborted || a.destroyed || b.destroyed) return finish();
    signal?.addEventListener("abort", finish, { once: true });
    const limit = { stuckMs, stuck: finish };
    // First: a listener below that ends the relay undoes them.
    stops.push(limitRest(a, b, limit), limitRest(b, a, limit));
    stops.push(copy(a, b, { ended, broken, gate: look && { look, held: undefined } }), copy(b, a, { ended, broken, words }));
  });
}

/** Keeps a copy of the last bytes that a stream gives. */
function followLatest(stream: Duplex): { readonly bytes: () => Buffer; readonly stop: () => void } {
  let latest: Buffer = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    latest = Buffer.concat([latest, chunk.subarray(-latestBytes)]).subarray(-latestBytes);
  };
  stream.on("data", onData);
  return { bytes: () => latest, stop: () => void stream.off("data", onData) };
}

function ignoreError(): void {}
function ignoreData(): void {}

/** Calls `stuck` when `from` has closed, and `to` does not take what is left. Returns the function that undoes it. */
function limitRest(from: Duplex, to: Duplex, limit: StuckLimit): () => void {
  let stop = (): void => {};
  const onClose = (): void => {
    stop = limitStuck(to, limit);
  };
  from.on("close", onClose);
  return () => {
    stop();
    from.off("close", onClose);
  };
}

/** A stream that closes both halves at the end of one unless it is asked not to: a channel of an SSH server. */
type Closing = Duplex & { readonly keepHalfOpen?: () => void };

/** Ends the writable half. */
function endHalf(stream: Closing, words?: Buffer): void {
  stream.keepHalfOpen?.();
  if (words === undefined) stream.end();
  else stream.end(words);
}

/** Gives a stream its last words, and calls `done` once it has taken them, has closed, or takes too long. Returns the function that undoes it. */
function endWith(stream: Duplex, words: Buffer, done: () => void): () => void {
  const timer = setTimeout(done, lastMs);
  stream.on("data", ignoreData).on("finish", done).on("close", done).resume();
  stream.end(words);
  return () => {
    clearTimeout(timer);
    stream.off("data", ignoreData).off("finish", done).off("close", done);
  };
}

interface Outcome {
  readonly ended: () => void;
  readonly broken: () => void;
  /** What `to` gets at the end of `from`. */
  readonly words?: () => Buffer | undefined;
  readonly gate?: Gate | undefined;
}

/** One direction. `ended` once `to` has taken all of it; `broken` when a stream fails or closes before. Returns the function that undoes it. */
function copy(from: Duplex, to: Duplex, { ended, broken, words, gate }: Outcome): () => void {
  const onEnd = (): void => {
    if (gate?.held === undefined) endHalf(to, words?.());
    else void gate.held.then(onEnd);
  };
  // `from` may close once it has sent everything, and `to` once it has received everything.
  const onFromClose = (): void => {
    if (!from.readableEnded) broken();
  };
  const onToClose = (): void => {
    if (to.writableFinished) return;
    // A server that has answered may close without reading on: its answer is still on its way to `from`, the other direction.
    if (!to.readableEnded || to.errored !== null) {
      broken();
      return;
    }
    stopPouring();
    from.on("data", ignoreData).resume();
    ended();
  };
  const stopPouring = pour(from, to, gate);
  from.on("end", onEnd).on("error", broken).on("close", onFromClose);
  to.on("finish", ended).on("error", broken).on("close", onToClose);
  if (to.writableFinished) ended();
  else if (from.readableEnded) onEnd();
  else if (!to.writableNeedDrain) from.resume();
  return () => {
    stopPouring();
    from.off("data", ignoreData).off("end", onEnd).off("error", broken).off("close", onFromClose);
    to.off("finish", ended).off("error", broken).off("close", onToClose);
  };
}
