import type { TLSSocket } from "node:tls";
import { endClientTls, type Front } from "../front.ts";
import { relayClient } from "../relay-client.ts";

/** Serves a client of MongoDB: TLS at once. Drivers reconnect to the address that the server states, which has to be this port's. */
export const serveMongodb: Front = async ({ socket, peer, established }, services) => {
  const tls = await endClientTls(socket, services, "mongodb");
  const at = services.publicAddr ?? dialledAddress(tls, socket.localPort);
  await relayClient({ tls, protocol: "mongodb", peer, at }, { established, services });
};

/** Empty for a client that names no server. */
function dialledAddress({ servername }: TLSSocket, port: number | undefined): string {
  return typeof servername === "string" && servername !== "" && port !== undefined ? `${servername}:${port}` : "";
}
