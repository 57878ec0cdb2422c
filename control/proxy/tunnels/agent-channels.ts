import type { Duplex } from "node:stream";
import type { Connection } from "ssh2";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { tunnelChannels } from "../../../core/transport/tunnel-message.ts";

export interface AgentChannelsOptions {
  readonly connection: Connection;
  readonly peer: string;
  readonly relayAuth: (stream: Duplex, remoteAddress: string) => void;
  /** For the control channel to be opened. */
  readonly timeoutMs: number;
}

/** Calls to the auth service that one agent may have open at a time. */
const maxAuthChannels = 16;

/**
 * Answers what an agent may open, and refuses all else. Resolves to the control channel; rejects when it does not come in
 * time or the connection ends first.
 */
export function agentChannels({ connection, peer, relayAuth, timeoutMs }: AgentChannelsOptions): Promise<Duplex> {
  let authChannels = 0;
  connection.on("request", (accept, reject, name, info) => {
    const wanted = name === "tcpip-forward" && "bindAddr" in info && info.bindAddr === tunnelChannels.stream;
    if (wanted) accept?.();
    else reject?.();
  });
  return new Promise((resolve, reject) => {
    let open = false;
    const fail = (error: PlatformError): void => {
      clearTimeout(timer);
      reject(error);
    };
    const timer = setTimeout(() => fail(new PlatformError("timeout", "the agent did not open its control channel in time")), timeoutMs);
    connection.once("close", () => fail(new PlatformError("unavailable", "the agent left before it opened its control channel")));
    connection.on("tcpip", (accept, refuse, { destIP }) => {
      if (destIP === tunnelChannels.control && !open) {
        open = true;
        clearTimeout(timer);
        resolve(accept());
        return;
      }
      if (destIP !== tunnelChannels.auth || authChannels >= maxAuthChannels) {
        refuse();
        return;
      }
      const channel: Duplex = accept();
      authChannels += 1;
      channel.on("error", () => {});
      channel.once("close", () => {
        authChannels -= 1;
      });
      relayAuth(channel, peer);
    });
  });
}
