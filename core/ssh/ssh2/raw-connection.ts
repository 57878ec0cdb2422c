import type { EventEmitter } from "node:events";
import type { Channel, Client, Connection, Session } from "ssh2";
import type { ChannelConnection, ChannelEnd, RawChannel } from "ssh2/lib/Channel.js";

/** The common part of a client's and a server's connection, with its private parts. */
export interface RawConnection extends ChannelConnection {
  readonly _chanMgr: {
    readonly _count: number;
    readonly _channels: Readonly<Record<string, unknown>>;
    get(id: number): unknown;
    /** A function is called with an error or with the channel. */
    add(entry: unknown): number;
  };
}

/** ssh2 types only the public half; both classes have these fields (shape.test.ts). */
export function rawConnection(connection: Client | Connection): RawConnection {
  return connection as unknown as RawConnection;
}

/** A server's session holds its channel in `_channel`; a channel that is being opened is not yet an object. */
export function channelIn(entry: unknown): RawChannel | undefined {
  if (typeof entry !== "object" || entry === null) return undefined;
  const channel = "_channel" in entry ? entry._channel : entry;
  return typeof channel === "object" && channel !== null && "outgoing" in channel ? (channel as RawChannel) : undefined;
}

/** Throws for what is not a channel of ssh2, or not one yet: a bug. */
export function rawChannel(channel: Channel): RawChannel {
  const raw = channelIn(channel);
  if (raw === undefined) throw new Error("an open channel of ssh2 is required");
  return raw;
}

interface NumberedSession {
  readonly _chanInfo: { readonly incoming: ChannelEnd; readonly outgoing: ChannelEnd };
}

/** Both ends of a server's session: ssh2's server.js creates the session's channel from them. */
export function sessionEnds(session: Session): NumberedSession["_chanInfo"] {
  return (session as unknown as NumberedSession)._chanInfo;
}

/** A session has its numbers from the start, but its channel only once a program was requested. */
export function incomingOf(entry: unknown): { readonly entry: EventEmitter; readonly incoming: ChannelEnd } | undefined {
  const channel = channelIn(entry);
  if (channel !== undefined) return { entry: channel, incoming: channel.incoming };
  if (typeof entry !== "object" || entry === null || !("_chanInfo" in entry)) return undefined;
  const session = entry as unknown as Session;
  return { entry: session, incoming: sessionEnds(session).incoming };
}
