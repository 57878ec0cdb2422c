import type { Socket } from "node:net";
import type { Channel, Client } from "ssh2";
import type { Endpoint } from "./forward-spec.ts";

/** Opens a channel from the host to the target. Throws ssh2's error, with the host's message. */
export function reach(client: Client, to: Endpoint, from: Pick<Socket, "remoteAddress" | "remotePort">): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new Error("the connection to the host was lost"));
    const done = (error: Error | undefined, channel: Channel): void => {
      client.off("close", lost);
      if (error === undefined) resolve(channel);
      else reject(error);
    };
    client.once("close", lost);
    if ("path" in to) client.openssh_forwardOutStreamLocal(to.path, done);
    else client.forwardOut(from.remoteAddress ?? "127.0.0.1", from.remotePort ?? 0, to.host, to.port, done);
  });
}
