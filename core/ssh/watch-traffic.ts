import type { Connection, Session } from "ssh2";
import { channelNumbers, subscribe } from "./ssh2/hooks.ts";
import type { SshEnd } from "./subscriber.ts";

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

/** Byte counts of a channel: the data of its streams, without SSH's overhead. */
export interface ByteCounts {
  /** From the peer. */
  readonly received: number;
  /** To the peer. */
  readonly sent: number;
}

type Counting = { -readonly [Name in keyof ByteCounts]: ByteCounts[Name] };

/** Counts the bytes of a connection's sessions. Call the result once per session, when it opens, for its counts. Costs a look-up per packet. */
export function countBytes(connection: Connection): (session: Session) => ByteCounts {
  const [byOwn, byPeers] = [new Map<number, Counting>(), new Map<number, Counting>()];
  const received = (_connection: SshEnd, channel: number, { length }: Buffer): void => {
    const counts = byOwn.get(channel);
    if (counts !== undefined) counts.received += length;
  };
  const sent = (_connection: SshEnd, channel: number, { length }: Buffer): void => {
    const counts = byPeers.get(channel);
    if (counts !== undefined) counts.sent += length;
  };
  subscribe(connection, {
    arrived: { CHANNEL_DATA: received, CHANNEL_EXTENDED_DATA: received },
    sending: { channelData: sent, channelExtData: sent },
  });
  return (session) => {
    const { own, peers } = channelNumbers(session);
    const counts: Counting = { received: 0, sent: 0 };
    byOwn.set(own, counts);
    byPeers.set(peers, counts);
    session.once("close", () => {
      if (byOwn.get(own) === counts) byOwn.delete(own);
      if (byPeers.get(peers) === counts) byPeers.delete(peers);
    });
    return counts;
  };
}
