import type { Channel, Connection } from "ssh2";
import { channelWindow } from "./channel-flow.ts";
import { rawConnection } from "./ssh2.ts";

/** Maximum data packet that we accept, bytes. */
const packetSize = 32 * 1024;

/** Opens a channel to the client's SSH agent (`auth-agent@openssh.com`), for which ssh2's server has no method. */
export function openAgentChannel(connection: Connection, done: (error: Error | undefined, channel: Channel) => void): void {
  const { _chanMgr: channels, _protocol: protocol } = rawConnection(connection);
  const opened = Object.assign((error: Error | undefined, channel: Channel) => done(error, channel), { type: "auth-agent@openssh.com" });
  const id = channels.add(opened);
  protocol.openssh_authAgent(id, channelWindow, packetSize);
}
