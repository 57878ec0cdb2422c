import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { expect, test } from "vitest";
import { createTestAuthority } from "./dial/testing/test-certificate.ts";
import { listenTcp, onRequest } from "./dial/testing/test-server.ts";
import { discoverTunnels, type FindAnswer, tunnelAddresses } from "./discover-tunnel.ts";
import { formatHostPort } from "./host-port.ts";

const proxy = { host: "proxy.example.com", port: 3080 };
const find = (tls: boolean, ssh?: FindAnswer["proxy"]["ssh"]): FindAnswer => ({ proxy: { tls_routing_enabled: tls, ...(ssh && { ssh }) } });

test.for([
  ["TLS routing: the web address", find(true), undefined, { address: proxy, tls: true }],
  [
    "the public tunnel address",
    find(false, { ssh_tunnel_public_addr: "t.example.com:4024" }),
    undefined,
    { address: { host: "t.example.com", port: 4024 }, tls: false },
  ],
  [
    "the proxy's host and the listener's port",
    find(false, { tunnel_listen_addr: "0.0.0.0:3124" }),
    undefined,
    { address: { host: proxy.host, port: 3124 }, tls: false },
  ],
  ["the default port", find(false), undefined, { address: { host: proxy.host, port: 3024 }, tls: false }],
  ["the environment wins", find(false, { ssh_tunnel_public_addr: "t:1" }), "[::1]:5", { address: { host: "::1", port: 5 }, tls: false }],
  ["the environment without a port, TLS routing", find(true), "other", { address: { host: "other", port: 3080 }, tls: true }],
] as const)("%s", ([, answer, override, expected]) => {
  expect(tunnelAddresses(answer, proxy, override)).toEqual([expected]);
});

test.for([
  ["TLS routing: the public address, then the one that was asked", "public.example.com:443", ["public.example.com:443", "proxy.example.com:3080"]],
  ["the public address is the one that was asked", "Proxy.example.com:3080", ["proxy.example.com:3080"]],
] as const)("%s", ([, open, expected]) => {
  const addresses = tunnelAddresses(find(true, { public_addr: open }), proxy, undefined).map(({ address }) => formatHostPort(address));
  expect(addresses).toEqual(expected);
});

test.for([
  [
    "502 Bad Gateway",
    "cannot reach it",
    /has status 502, and its certificate, issued by "test authority [0-9a-f-]+", is not issued by the cluster's authority$/,
  ],
  ["200 OK", "<html>", /is not a proxy's answer, and its certificate, issued by "test authority /],
] as const)("%s from a proxy that inspects TLS is not attributed to the cluster", async ([status, body, message]) => {
  const [inspector, cluster] = [await createTestAuthority(), await createTestAuthority()];
  const leaf = await inspector.issue({ type: "ip", value: "127.0.0.1" });
  const server = await listenTcp(
    (socket) => onRequest(socket, () => socket.end(`HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)),
    leaf,
  );
  const asked = discoverTunnels({ proxy: { host: server.host, port: server.port }, hostCa: [cluster.cert], env: {} });
  await expect(asked).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(message),
    hint: expect.stringContaining("inspects TLS"),
  });
  server.close();
});

test.for([
  ["of the cluster", true],
  ["public, or unknown here", false],
] as const)("a web certificate that is %s: one connection, which is not dropped as untrusted", async ([, isOfCluster]) => {
  const [other, cluster] = [await createTestAuthority(), await createTestAuthority()];
  const leaf = await (isOfCluster ? cluster : other).issue({ type: "ip", value: "127.0.0.1" });
  const body = JSON.stringify(find(true));
  const seen: string[] = [];
  const server = createServer(leaf, (socket) => {
    onRequest(socket, (header) => {
      seen.push(header.split("\r\n")[0] ?? "");
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
  });
  server.on("connection", () => seen.push("connection")).on("tlsClientError", (error) => seen.push(error.message));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const found = await discoverTunnels({ proxy: { host: "127.0.0.1", port }, hostCa: [cluster.cert], env: {} });
  server.close();
  expect(found).toEqual([{ address: { host: "127.0.0.1", port }, tls: true }]);
  expect(seen).toEqual(["connection", "GET /webapi/find HTTP/1.1"]);
});
