import type { Connection } from "ssh2";
import type { PlatformError } from "../../../core/errors/platform-error.ts";

/** The part of ssh2's protocol object that answers a channel request (1.17.0; its own `reject()` can give no reason). */
interface OpenFailure {
  channelOpenFail(recipient: number, reason: number, description: string): void;
}

/** SSH_OPEN_ADMINISTRATIVELY_PROHIBITED (RFC 4254 §5.1). */
const prohibited = 1;

/** Refuses a channel with a sentence that the client shows. `reject` is what ssh2 gave for this channel. */
export function refuseChannel(connection: Connection, reject: () => void, error: PlatformError): void {
  const protocol = (connection as unknown as { _protocol?: OpenFailure })._protocol;
  if (protocol === undefined) {
    reject();
    return;
  }
  const answer = protocol.channelOpenFail;
  const text = error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
  protocol.channelOpenFail = (recipient) => answer.call(protocol, recipient, prohibited, text.slice(0, 1000));
  try {
    reject();
  } finally {
    protocol.channelOpenFail = answer;
  }
}
