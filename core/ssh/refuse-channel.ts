import type { Connection } from "ssh2";
import type { PlatformError } from "../errors/platform-error.ts";
import { rawConnection } from "./ssh2.ts";

/** SSH_OPEN_ADMINISTRATIVELY_PROHIBITED (RFC 4254 §5.1). */
const prohibited = 1;

/** Refuses a channel with a sentence that the client shows. `reject` is ssh2's function for this channel. */
export function refuseChannel(connection: Connection, reject: () => void, error: PlatformError): void {
  // ssh2's own reject() cannot send a reason (1.17.0).
  const { _protocol: protocol } = rawConnection(connection);
  const answer = protocol.channelOpenFail;
  const text = error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
  protocol.channelOpenFail = (recipient) => answer.call(protocol, recipient, prohibited, text.slice(0, 1000));
  try {
    reject();
  } finally {
    protocol.channelOpenFail = answer;
  }
}
