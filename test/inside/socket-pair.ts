import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Both ends of a connection over loopback, in place of the channel of a tunnel. `far` begins paused. */
export async function socketPair(): Promise<readonly [near: Socket, far: Socket]> {
  const server = createServer({ pauseOnConnect: true, noDelay: true });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const near = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", noDelay: true });
  const [far] = (await once(server, "connection")) as [Socket];
  server.close();
  for (const socket of [near, far]) socket.on("error", () => {});
  return [near, far];
}
