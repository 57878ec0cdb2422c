import type { PseudoTtyInfo } from "ssh2";
import { clampSize } from "../program/terminal.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** `pty-req`: remembered; the terminal is opened when the program starts. */
export function pty(channel: SessionChannel, { accept, reject }: RequestReply, info: PseudoTtyInfo): void {
  if (channel.wanted !== undefined || !channel.facts.permitsPty) {
    reject?.();
    return;
  }
  // The types leave out that a client may send none.
  const kind = (info as Partial<PseudoTtyInfo>).term ?? "";
  channel.wanted = { kind, size: clampSize({ columns: info.cols, rows: info.rows }) };
  accept?.();
}
