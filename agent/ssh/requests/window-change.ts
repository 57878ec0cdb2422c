import type { WindowChangeInfo } from "ssh2";
import { clampSize } from "../program/terminal.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";
import { recordResizes } from "./record-resizes.ts";

/** `window-change`: the terminal's new size; the kernel notifies the programs (SIGWINCH). */
export function windowChange(channel: SessionChannel, { accept, reject }: RequestReply, info: WindowChangeInfo): void {
  if (channel.wanted === undefined) {
    reject?.();
    return;
  }
  channel.wanted.size = clampSize({ columns: info.cols, rows: info.rows });
  channel.terminal?.resize(channel.wanted.size);
  channel.recorder?.resize(channel.wanted.size);
  // Before the program runs, this is the initial size, not a change.
  if (channel.terminal !== undefined) {
    channel.resized ??= recordResizes(channel);
    channel.resized();
  }
  accept?.();
}
