import type { Duplex } from "node:stream";
import { limitPieces } from "../../../core/bytes/limit-pieces.ts";
import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Insertion } from "./insertion.ts";
import type { StreamTap } from "./stream-tap.ts";

/** Time that the other end has, after one has ended, to send and take the rest, ms. */
const restMs = 5_000;
/** Time that a client has to take the reason of an end, ms. */
const farewellMs = 1_000;

export interface TappedRelay {
  readonly client: Duplex;
  readonly upstream: Duplex;
  readonly tap: StreamTap;
  /** Ends it; a PlatformError as its reason is stated to the client. */
  readonly signal: AbortSignal;
  /** Bytes that pass, from the client or to it. */
  readonly onBytes: (side: "client" | "upstream", bytes: number) => void;
}

/**
 * Copies bytes both ways; each piece goes on once the tap has read it, and nothing is read meanwhile. Either stream may have ended or closed before.
 * Resolves with the reason when the platform ended it, once both streams are destroyed. Never rejects.
 */
export async function relayTapped({ client, upstream, tap, signal, onBytes }: TappedRelay): Promise<PlatformError | undefined> {
  const over = Promise.withResolvers<PlatformError | undefined>();
  const cut = (why: unknown): void => over.resolve(toPlatformError(why));
  const onAbort = (): void => cut(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const ended = (): void => {
    timer ??= setTimeout(() => over.resolve(undefined), restMs);
  };
  const broken = (): void => over.resolve(undefined);
  const fromClient = {
    from: client,
    to: upstream,
    read: (chunk: Buffer) => tap.fromClient(chunk),
    onBytes: (bytes: number) => onBytes("client", bytes),
    insertion: tap.inserts?.typed,
  };
  const fromServer = {
    from: upstream,
    to: client,
    read: (chunk: Buffer) => tap.fromServer(chunk),
    onBytes: (bytes: number) => onBytes("upstream", bytes),
    insertion: tap.inserts?.shown,
  };
  // A client that has left ends it at once; what the server has sent before its end is still on the way to the client.
  const stops = [
    copy(fromClient, { ended, closed: broken, broken, cut }),
    copy(fromServer, { ended, closed: (hasEnded) => void (hasEnded || broken()), broken, cut }),
  ];
  const reason = await over.promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", onAbort);
  for (const stop of stops) stop();
  upstream.destroy();
  const last = reason === undefined ? undefined : tap.farewell(reason.message);
  tap.close();
  const isShown = last !== undefined && tap.shownMs !== undefined && (await show(client, last, tap.shownMs));
  if (!client.destroyed) await finish(client, isShown ? undefined : last, reason === undefined ? restMs : farewellMs);
  client.destroy();
  return reason;
}

interface Direction {
  readonly from: Duplex;
  readonly to: Duplex;
  readonly read: (chunk: Buffer) => Promise<void> | undefined;
  readonly onBytes: (bytes: number) => void;
  readonly insertion: Insertion | undefined;
}

interface Ends {
  /** This direction has ended, and the other one may go on for a moment. */
  readonly ended: () => void;
  /** `from` is closed, before or after its end. */
  readonly closed: (hasEnded: boolean) => void;
  readonly broken: () => void;
  readonly cut: (why: unknown) => void;
}

function copy({ from, to, read, onBytes, insertion }: Direction, { ended, closed, broken, cut }: Ends): () => void {
  let isStopped = false;
  let isReading = false;
  let hasEnded = false;
  const onDrain = (): void => {
    if (!isReading && !isStopped) from.resume();
  };
  const write = limitPieces(to, onDrain);
  const pass = (chunk: Buffer): void => {
    if (isStopped) return;
    onBytes(chunk.length);
    if (write(chunk)) from.resume();
    else from.pause();
    insertion?.flush();
  };
  const finishEnd = (): void => {
    if (hasEnded && !isReading && !isStopped) {
      to.end();
      ended();
    }
  };
  const onData = (chunk: Buffer): void => {
    let reading: Promise<void> | undefined;
    try {
      reading = read(chunk);
    } catch (thrown) {
      cut(thrown);
      return;
    }
    if (reading === undefined) return void pass(chunk);
    isReading = true;
    from.pause();
    reading.then(() => {
      isReading = false;
      pass(chunk);
      finishEnd();
    }, cut);
  };
  const onEnd = (): void => {
    hasEnded = true;
    finishEnd();
  };
  const onClose = (): void => closed(hasEnded);
  from.on("data", onData).on("end", onEnd).on("close", onClose).on("error", broken);
  to.on("drain", onDrain);
  insertion?.begin({ to, isAhead: () => isReading });
  // Of what has happened already there are no events.
  if (from.readableEnded) onEnd();
  if (from.destroyed) onClose();
  return () => {
    isStopped = true;
    insertion?.end();
    from.off("data", onData).off("end", onEnd).off("close", onClose).off("error", broken);
    to.off("drain", onDrain);
    from.on("error", () => {});
    from.pause();
  };
}

/** Until the client has left, or has had its time. Returns whether it wrote; nothing goes to a client that has ended its half, as its time cannot be known. */
async function show(client: Duplex, last: Buffer, limitMs: number): Promise<boolean> {
  if (client.destroyed || client.writableEnded || client.readableEnded) return false;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  client.once("close", resolve).once("end", resolve).resume();
  client.write(last);
  await promise;
  clearTimeout(timer);
  return true;
}

async function finish(client: Duplex, last: Buffer | undefined, limitMs: number): Promise<void> {
  if (client.writableFinished) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  client.once("close", resolve).once("finish", resolve).resume();
  // After its own end nothing can be written, and what was written before must not be lost.
  client.end(client.writableEnded ? undefined : last);
  await promise;
  clearTimeout(timer);
}
