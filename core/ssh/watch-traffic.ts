import type { Connection } from "ssh2";
import { subscribe } from "./ssh2/hooks.ts";

export interface Traffic {
  /** The peer sent data or a request on a channel, or opened one. */
  readonly onIn: () => void;
  /** We sent data on a channel; `channel` is the peer's number of it. */
  readonly onOut: (channel: number) => void;
}

/** Reports traffic of a connection's channels, without keep-alives and key exchanges. Costs a call for each packet. */
export function watchTraffic(connection: Connection, { onIn, onOut }: Traffic): void {
  subscribe(connection, {
    arrived: {
      CHANNEL_OPEN: onIn,
      CHANNEL_DATA: onIn,
      CHANNEL_EXTENDED_DATA: onIn,
      CHANNEL_REQUEST: (_connection, _channel, name) => {
        if (name !== "keepalive@openssh.com") onIn();
      },
    },
    sending: { channelData: (_connection, channel) => onOut(channel) },
  });
}
