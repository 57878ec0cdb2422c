import type { Connection, Session } from "ssh2";
import { rawConnection } from "./ssh2.ts";

export interface Traffic {
  /** The peer sent data or a request on a channel, or opened one. */
  readonly onIn: () => void;
  /** We sent data on a channel; `channel` is the peer's number of it. */
  readonly onOut: (channel: number) => void;
}

type Handler = (protocol: object, ...values: unknown[]) => void;

/** Reports traffic of a connection's channels, without keep-alives and key exchanges. Costs a call for each packet. */
export function watchTraffic(connection: Connection, { onIn, onOut }: Traffic): void {
  const { _protocol: protocol } = rawConnection(connection);
  const handlers = protocol._handlers as Record<string, Handler | undefined>;
  const before = (name: string, seen: (...values: unknown[]) => void): void => {
    const handler = handlers[name];
    handlers[name] = (from, ...values) => {
      seen(...values);
      handler?.(from, ...values);
    };
  };
  before("CHANNEL_OPEN", onIn);
  before("CHANNEL_DATA", onIn);
  before("CHANNEL_EXTENDED_DATA", onIn);
  before("CHANNEL_REQUEST", (_channel, type) => {
    if (type !== "keepalive@openssh.com") onIn();
  });
  const send = protocol.channelData;
  protocol.channelData = function channelData(recipient, data) {
    onOut(recipient);
    send.call(this, recipient, data);
  };
}

interface NumberedSession {
  readonly _chanInfo: { readonly incoming: { readonly id: number }; readonly outgoing: { readonly id: number } };
}

/** The numbers of a session's channel at both sides. */
export function channelNumbers(session: Session): { readonly own: number; readonly peers: number } {
  // ssh2 types only the public half; a server's session holds this (1.17.0, pinned; count-bytes.test.ts would fail).
  const { incoming, outgoing } = (session as unknown as NumberedSession)._chanInfo;
  return { own: incoming.id, peers: outgoing.id };
}
