import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createServer } from "node:tls";
import { expect, test } from "vitest";
import { ApiWorld } from "./testing/api-world.ts";
import { ApiServer } from "./upstream/api-server.ts";
import { UserRequests } from "./user-requests.ts";

test("an API server that answers 101 to a plain request takes none of the user's places, and the request is in the audit log", async () => {
  await using world = await ApiWorld.open();
  const { tlsCertificate: cert, tlsPrivateKey: key } = await world.own.host("gateway");
  const gateway = createServer({ cert, key, ALPNProtocols: ["http/1.1"] }, (socket) => {
    socket.on("error", () => {}).once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"));
  });
  await once(gateway.listen(0, "127.0.0.1"), "listening");
  const { port } = gateway.address() as AddressInfo;
  const { cluster } = await world.service();
  const over = new AbortController();
  const api = new ApiServer({ ...cluster.api.facts, address: { host: "127.0.0.1", port } }, { env: {} }, over.signal);
  const deps = { findCluster: () => ({ ...cluster, api }), requests: new UserRequests({ requests: 1, streams: 1 }) };
  const service = await world.service({ deps });
  const answers: unknown[] = [];
  for (let times = 0; times < 2; times += 1) {
    const { tls } = await world.enter({}, service);
    const sent = request({ createConnection: () => tls, host: "kube.test", method: "POST", path: "/api/v1/namespaces/a/pods" }).end("{}");
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    answers.push([response.statusCode, await text(response)]);
  }
  const refused = [503, expect.stringContaining("101")];
  expect(answers).toEqual([refused, refused]);
  await expect.poll(() => service.events.filter(({ event }) => event === "kube.request")).toHaveLength(2);
  over.abort();
  gateway.close();
});
