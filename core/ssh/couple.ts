import type { Duplex } from "node:stream";
import type { Channel } from "ssh2";
import { gatherPieces } from "../node-internals/gather-pieces.ts";
import { pour } from "../transport/pour.ts";
import { keepHalfOpen, limitBuffers } from "./ssh2/hooks.ts";

/**
 * Couples a channel and a socket: data at the pace of the slower side, the end of one direction alone (half-close),
 * and the end of both. Resolves when both are closed. Aborting `gone` drops the rest.
 */
export async function couple(channel: Channel, socket: Duplex, gone: AbortSignal): Promise<void> {
  keepHalfOpen(channel);
  limitChannelBuffers(channel);
  channel.on("error", ignored);
  socket.on("error", ignored);
  const closed = Promise.all([new Promise((resolve) => channel.once("close", resolve)), new Promise((resolve) => socket.once("close", resolve))]);
  const drop = (): void => void socket.destroy();
  gone.addEventListener("abort", drop, { once: true });
  socket.once("close", () => {
    // What it still has is for nobody.
    channel.resume();
    if (channel.writableFinished) channel.close();
    else channel.once("finish", () => channel.close()).end();
  });
  channel.once("close", () => {
    if (socket.writableFinished) socket.destroy();
    else socket.once("finish", drop).end();
  });
  passOn(channel, gatherPieces(socket));
  passOn(socket, channel);
  if (gone.aborted) drop();
  await closed;
  gone.removeEventListener("abort", drop);
}

/** Data, and the end. */
function passOn(from: Duplex, to: Duplex): void {
  const stop = pour(from, to);
  const onEnd = (): void => void to.end();
  if (from.readableEnded) onEnd();
  else from.once("end", onEnd);
  // A channel that can no longer be written to may still be read.
  to.once("error", () => {
    stop();
    from.pause();
  });
  to.once("close", stop);
  if (!to.writableNeedDrain) from.resume();
}

/** Maximum buffer of a channel for a peer that grants no window, bytes; ssh2's own 2 MiB times hundreds of channels is too much. */
const mostHeld = 128 * 1024;

/** Limits the unsent bytes in a channel, for stdout and stderr each. */
export function limitChannelBuffers(channel: Channel): void {
  limitBuffers(channel, mostHeld);
}

function ignored(): void {}
