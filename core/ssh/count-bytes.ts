import type { Connection, Session } from "ssh2";
import { rawConnection } from "./ssh2.ts";
import { channelNumbers } from "./watch-traffic.ts";

/** Byte counts of a channel: the data of its streams, without SSH's overhead. */
export interface ByteCounts {
  /** From the peer. */
  readonly received: number;
  /** To the peer. */
  readonly sent: number;
}

type Counting = { -readonly [Name in keyof ByteCounts]: ByteCounts[Name] };
type Handler = (protocol: object, channel: number, data: Buffer, ...more: unknown[]) => void;

/** Counts the bytes of a connection's sessions. Call the result once per session, when it opens, for its counts. Costs a look-up per packet. */
export function countBytes(connection: Connection): (session: Session) => ByteCounts {
  const { _protocol: protocol } = rawConnection(connection);
  const [byOwn, byPeers] = [new Map<number, Counting>(), new Map<number, Counting>()];
  const handlers = protocol._handlers as Record<string, Handler | undefined>;
  for (const name of ["CHANNEL_DATA", "CHANNEL_EXTENDED_DATA"]) {
    const handler = handlers[name];
    handlers[name] = (from, channel, data, ...more) => {
      const counts = byOwn.get(channel);
      if (counts !== undefined) counts.received += data.length;
      handler?.(from, channel, data, ...more);
    };
  }
  const sent = (channel: number, { length }: Buffer): void => {
    const counts = byPeers.get(channel);
    if (counts !== undefined) counts.sent += length;
  };
  const { channelData, channelExtData } = protocol;
  protocol.channelData = function counted(channel, data) {
    sent(channel, data);
    channelData.call(this, channel, data);
  };
  protocol.channelExtData = function counted(channel, data, type) {
    sent(channel, data);
    channelExtData.call(this, channel, data, type);
  };
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
