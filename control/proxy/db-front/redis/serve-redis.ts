import { endClientTls, type Front } from "../front.ts";
import { relayClient } from "../relay-client.ts";

/** Serves a client of Redis or Valkey: TLS at once. */
export const serveRedis: Front = async ({ socket, peer, established }, services) => {
  const tls = await endClientTls(socket, services, "redis");
  await relayClient({ tls, protocol: "redis", peer, at: "" }, { established, services });
};
