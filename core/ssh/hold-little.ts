import type { Writable } from "node:stream";
import type { Channel } from "ssh2";
import { channelOf } from "./ssh2.ts";

/** Maximum buffer of a channel for a peer that grants no window, bytes; ssh2's own 2 MiB times hundreds of channels is too much. */
const mostHeld = 128 * 1024;

/** Limits the unsent bytes in a channel, for stdout and stderr each. */
export function holdLittle(channel: Channel): void {
  const raw = channelOf(channel);
  if (raw === undefined) throw new Error("the channel is not open");
  raw._writableState.highWaterMark = mostHeld;
  const stderr = raw.stderr as Writable & { readonly _writableState?: { highWaterMark: number } };
  if (stderr._writableState !== undefined) stderr._writableState.highWaterMark = mostHeld;
}
