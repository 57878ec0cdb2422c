import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { makeCertificate } from "./http-proxy/make-certificate.ts";
import type { Machine } from "./machine.ts";
import { output } from "./program.ts";

/** A man in the middle between a machine and the cluster, with a certificate of an untrusted authority. */
export interface ManInTheMiddle extends AsyncDisposable {
  /** Connections that were led to him so far. */
  readonly connections: number;
  /** `address:port` where he listens. */
  readonly address: string;
  /** Lets the machine reach the cluster again. */
  leave(): Promise<void>;
}

/** From now on new connections of the machine to `proxy` (`address:port`) end at him; he answers every question with `says`. */
export async function standBetween(machine: Machine, proxy: string, says: (path: string) => string): Promise<ManInTheMiddle> {
  const [address = "", port = ""] = proxy.split(":");
  const dir = await mkdtemp(join(tmpdir(), "platform-middle-"));
  const certificate = await makeCertificate(dir, [address]);
  await rm(dir, { recursive: true });
  const server = createServer(certificate, (request, response) => response.end(says(request.url ?? "")));
  let connections = 0;
  const sockets = new Set<Duplex>();
  server.on("connection", (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", () => {});
  server.listen(0, machine.gateway);
  await once(server, "listening");
  const own = server.address() as AddressInfo;
  const rules = `table ip middle {
  chain out {
    type nat hook output priority -100;
    ip daddr ${address} tcp dport ${port} dnat to ${own.address}:${own.port}
  }
}
`;
  await output("nft", ["-f", "-"], { netns: machine.netns, input: rules });
  let there = true;
  const leave = async (): Promise<void> => {
    if (there) await output("nft", ["delete", "table", "ip", "middle"], { netns: machine.netns });
    there = false;
  };
  return {
    get connections() {
      return connections;
    },
    address: `${own.address}:${own.port}`,
    leave,
    [Symbol.asyncDispose]: async () => {
      await leave();
      // Also those in the middle of their handshake, which the server does not count.
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
