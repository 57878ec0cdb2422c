import type { Connection } from "ssh2";
import { type Client, rawConnection } from "./ssh2.ts";

/** RFC 4254 section 5.1; a client such as ssh(1) prints the reason's name, then the text. */
const reasons = { "administratively prohibited": 1, "connect failed": 2, "resource shortage": 4 } as const;

export interface OpenRefusal {
  readonly reason: keyof typeof reasons;
  readonly text: string;
}

/** Refuses a channel that the peer requests, with a reason and a text: ssh2's own `reject` knows one reason and no text. */
export function refuseChannel(connection: Client | Connection, reject: () => void, { reason, text }: OpenRefusal): void {
  const { _protocol: protocol } = rawConnection(connection);
  const send = protocol.channelOpenFail;
  // `reject` frees the channel's number and answers within this call.
  protocol.channelOpenFail = (id) => send.call(protocol, id, reasons[reason], text);
  try {
    reject();
  } finally {
    protocol.channelOpenFail = send;
  }
}
