import type { WindowChangeInfo } from "ssh2";
import { recordOrLog } from "../../service/record-or-log.ts";
import { clampSize } from "../program/terminal.ts";
import type { RequestReply, SessionChannel } from "../session-channel.ts";
import { sessionFacts } from "../session-facts.ts";

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

/** Minimum time between two events of one terminal, ms: a window that is being dragged changes all the time. */
const pauseMs = 10_000;

/** Returns the function to call at each new size of a terminal: it records one at once, and the last of those that follow shortly after a delay. */
function recordResizes(channel: SessionChannel): () => void {
  let timer: NodeJS.Timeout | undefined;
  let told = "";
  const tell = (): void => {
    timer = undefined;
    const { columns, rows } = channel.wanted?.size ?? { columns: 0, rows: 0 };
    const size = `${columns}:${rows}`;
    if (size === told || channel.gone.aborted) return;
    told = size;
    timer = setTimeout(tell, pauseMs).unref();
    void recordOrLog(channel.facts.deps, { event: "resize", ...sessionFacts(channel.facts, channel.sid), size });
  };
  channel.gone.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return () => {
    if (timer === undefined) tell();
  };
}
