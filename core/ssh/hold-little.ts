import type { Channel } from "ssh2";
import { limitBuffers } from "./ssh2/hooks.ts";

/** Maximum buffer of a channel for a peer that grants no window, bytes; ssh2's own 2 MiB times hundreds of channels is too much. */
const mostHeld = 128 * 1024;

/** Limits the unsent bytes in a channel, for stdout and stderr each. */
export function holdLittle(channel: Channel): void {
  limitBuffers(channel, mostHeld);
}
