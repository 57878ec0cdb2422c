import type { PtyRequest } from "../../../core/ssh/channel-requests.ts";
import { clampSize } from "../program/terminal.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";

/** `pty-req`: remembered; the terminal is opened when the program starts. */
export function pty(channel: SessionChannel, { accept, reject }: RequestReply, info: PtyRequest): void {
  if (channel.wanted !== undefined || !channel.facts.permitsPty) {
    reject?.();
    return;
  }
  const { term: kind, cols: columns, rows, modes } = info;
  channel.wanted = { kind, modes, size: clampSize({ columns, rows }) };
  accept?.();
}
