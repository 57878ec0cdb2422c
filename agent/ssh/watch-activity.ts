import type { Connection } from "ssh2";
import { watchTraffic } from "../../core/ssh/watch-traffic.ts";

/** A terminal is idle without input, any other channel when no bytes pass in either direction. `isTerminal` takes the peer's channel number. */
export function watchActivity(connection: Connection, isTerminal: (channel: number) => boolean): (touch: () => void) => void {
  return (touch) =>
    watchTraffic(connection, {
      onIn: touch,
      onOut: (channel) => {
        if (!isTerminal(channel)) touch();
      },
    });
}
