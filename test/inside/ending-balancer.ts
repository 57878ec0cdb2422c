import { connect } from "node:tls";
import { createTestAuthority } from "../../core/transport/dial/testing/test-certificate.ts";
import { listenTcp, type TestServer } from "../../core/transport/dial/testing/test-server.ts";

/** Something that ends TLS in front of a web port, with a certificate of an authority of its own, and begins it again behind. */
export interface EndingBalancer extends TestServer {
  /** PEM of its authority. */
  readonly ca: readonly string[];
  /** Connections whose handshake it has completed. */
  readonly connections: number;
}

/** `port`: of the proxy, on 127.0.0.1. `alpn`: the protocols that it knows; left out: it answers none. */
export async function endTlsBefore(port: number, alpn?: readonly string[]): Promise<EndingBalancer> {
  const authority = await createTestAuthority();
  let connections = 0;
  const { cert, key } = await authority.issue({ type: "ip", value: "127.0.0.1" });
  const server = await listenTcp(
    (client) => {
      connections += 1;
      const proxy = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
      proxy.on("error", () => client.destroy()).on("close", () => client.destroy());
      client.on("close", () => proxy.destroy());
      client.pipe(proxy).pipe(client);
    },
    { cert, key, ...(alpn && { ALPNProtocols: [...alpn] }) },
  );
  return Object.defineProperty({ ...server, ca: [authority.cert], connections: 0 }, "connections", { get: () => connections });
}
