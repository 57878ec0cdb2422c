import { once } from "node:events";
import type { Duplex } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import { roleServerName } from "../../core/transport/alpn.ts";
import { hostContext, terminateTls } from "../../core/transport/arrivals/server-tls.ts";
import { insideAuthorities } from "./authorities.ts";
import { socketPair } from "./socket-pair.ts";

/** Both ends of TLS, as a host's server makes its end by hand. `below`: puts something between it and the connection. */
export async function tlsPair(
  alpn: string,
  below: (socket: Duplex) => Duplex = (socket) => socket,
): Promise<{ readonly server: TLSSocket; readonly client: TLSSocket }> {
  const own = await insideAuthorities();
  const [near, far] = await socketPair();
  const accepted = terminateTls(below(far), { context: hostContext(await own.host("host-1")), alpn });
  const client = connect({ socket: near, ca: own.hostCaPem, servername: roleServerName("node"), ALPNProtocols: [alpn] });
  client.on("error", () => {});
  await once(client, "secureConnect");
  const server = await accepted;
  server.on("error", () => {});
  return { server, client };
}
