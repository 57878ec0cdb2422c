import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { encodeFatal } from "../../../../core/databases/postgres/fatal.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { nextBytes } from "../../../../test/inside/stream-bytes.ts";
import { postgresClient, restAsText, sslRequest, startup } from "../testing/front-clients.ts";
import { type FrontWorld, frontWorld } from "../testing/front-world.ts";

let world: FrontWorld;
beforeAll(async () => {
  world = await frontWorld();
});
afterAll(async () => await world[Symbol.asyncDispose]());
beforeEach(() => world.reset());

test("PostgreSQL: the agent gets the user, limited to the certificate's database and account, from a key of the proxy", async () => {
  const tls = await postgresClient(world, await world.certificate("postgres", "reader"));
  tls.write(startup);
  expect(await nextBytes(tls)).toEqual(startup);
  tls.destroy();
  const [{ request, user } = expect.fail()] = world.reached;
  expect(request).toMatchObject({ target: "postgres", parameters: { user: "reader", name: "", host: "", at: "" } });
  expect(user).toMatchObject({ name: "alice", route: { kind: "db", name: "postgres", account: "reader" }, relayed: { by: expect.any(String) } });
  expect(user.validBefore.getTime()).toBeLessThan(Date.now() + 310_000);
  expect(Date.parse(user.relayed?.until ?? "")).toBeGreaterThan(Date.now() + 3_000_000);
});

test("PostgreSQL on the web port: after a request, or at once by its ALPN; HTTPS stays beside it", async () => {
  const certificate = await world.certificate("postgres", "reader");
  const direct = await world.tls(await world.dial("web"), certificate, { ALPNProtocols: ["postgresql"] });
  for (const tls of [await postgresClient(world, certificate, "web"), direct]) {
    tls.write(startup);
    expect(await nextBytes(tls)).toEqual(startup);
    tls.destroy();
  }
  const https = await world.tls(await world.dial("web"), undefined, { ALPNProtocols: ["http/1.1"] });
  https.write("GET /webapi/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(await restAsText(https)).toContain('"postgres_public_addr"');
});

test("PostgreSQL: the loss of its agent reaches a client between two messages of the server, and not behind the server's last words", async () => {
  const [ready, row] = [Buffer.from("Z\0\0\0\x05I", "latin1"), Buffer.from("D\0\0\0\x0a\0\0\0\0\0\0", "latin1")];
  const fatal = encodeFatal(new PlatformError("denied", "alice is locked"));
  const certificate = await world.certificate("postgres", "reader");
  const afterLoss = async (...sent: readonly Buffer[]): Promise<string> => {
    world.serve = (agent) => void agent.once("data", () => agent.write(Buffer.concat(sent), () => agent.destroy()));
    const tls = await postgresClient(world, certificate);
    tls.write(startup);
    return await restAsText(tls);
  };
  expect(await afterLoss(ready, row)).toMatch(/^Z.{5}D.{10}E.*SFATAL\.VFATAL\.C08006\.Mthe connection to the agent of this database was lost/);
  expect(await afterLoss(ready, row.subarray(0, 8))).toMatch(/^Z.{5}D.{7}$/);
  expect(await afterLoss(ready, fatal)).toMatch(/alice is locked\.\.$/);
});

test("PostgreSQL: GSSENCRequest, then SSLRequest; what is sent behind a request in the clear ends the connection", async () => {
  const socket = await world.dial("postgres");
  socket.write(Buffer.from("0000000804d21630", "hex"));
  expect(String(await nextBytes(socket))).toBe("N");
  socket.write(sslRequest);
  expect(String(await nextBytes(socket))).toBe("S");
  socket.destroy();
  for (const bytes of [Buffer.concat([sslRequest, startup]), Buffer.concat([sslRequest, sslRequest]), Buffer.from("GET / HTTP/1.1\r\n\r\n")]) {
    const other = await world.dial("postgres");
    other.write(bytes);
    expect(await restAsText(other)).toBe("");
  }
});

test("PostgreSQL without TLS is refused in its words", async () => {
  const socket = await world.dial("postgres");
  socket.write(startup);
  expect(await restAsText(socket)).toMatch(/^E.*SFATAL\.VFATAL\.C28000\.Mthis port requires TLS/);
});

test("requests to cancel: in the clear, within TLS with and without a certificate, on both ports", async () => {
  world.cancelled.splice(0);
  const cancel = Buffer.from("0000001004d2162e0000002a01020304", "hex");
  const certificate = await world.certificate("postgres", "reader");
  const plain = [await world.dial("postgres"), await world.dial("web")];
  for (const client of [
    ...plain,
    await postgresClient(world),
    await postgresClient(world, certificate),
    await postgresClient(world, undefined, "web"),
  ]) {
    client.write(cancel);
    expect(await restAsText(client)).toBe("");
  }
  expect(world.cancelled).toEqual(Array(5).fill("0000002a01020304"));
});
