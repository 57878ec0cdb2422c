import { recordOrLog } from "../../service/record-or-log.ts";
import type { SessionChannel } from "../session-channel.ts";
import { sessionFacts } from "../session-facts.ts";

/** Minimum time between two events of one terminal, ms: a window that is being dragged changes all the time. */
const pauseMs = 10_000;

/** Returns the function to call at each new size of a terminal: it records one at once, and the last of those that follow shortly after a delay. */
export function recordResizes(channel: SessionChannel): () => void {
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
