import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { connect as connectTls, createSecureContext } from "node:tls";
import { expect, test } from "vitest";
import { createTestAuthority } from "../dial/testing/test-certificate.ts";
import { terminateTls } from "./terminate-tls.ts";

/** A client's first message. */
async function clientHello(): Promise<Buffer> {
  const [near, far] = duplexPair();
  const tls = connectTls({ socket: near, servername: "a.test", ALPNProtocols: ["http/1.1"] });
  tls.on("error", () => {});
  const [hello] = (await once(far, "data")) as [Buffer];
  tls.destroy();
  return hello;
}

test("the server does not wait for a client that leaves during the handshake, such as one that does not trust the certificate", async () => {
  const { cert, key } = await (await createTestAuthority()).issue({ type: "dns", value: "a.test" });
  // An HTTP proxy on the way passes the end of one direction on, and keeps the other one open.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  client.on("error", () => {}).resume();
  const [accepted] = (await once(server, "connection")) as [Socket];
  client.end(await clientHello());
  const begun = performance.now();
  const handshake = terminateTls(accepted, { context: createSecureContext({ cert, key }), alpn: "http/1.1" });
  await expect(handshake).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("the client ended the connection") });
  expect(performance.now() - begun).toBeLessThan(5_000);
  client.destroy();
  server.close();
});
