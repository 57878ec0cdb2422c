import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { errorPacket } from "../../../core/databases/mysql/error-packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { DbProtocol } from "../../../core/resources/db.ts";
import { allBytes, nextBytes } from "../../../test/inside/stream-bytes.ts";
import { postgresClient, refusalOf, startup } from "./testing/front-clients.ts";
import { type FrontWorld, frontWorld } from "./testing/front-world.ts";

let world: FrontWorld;
beforeAll(async () => {
  world = await frontWorld();
});
afterAll(async () => await world[Symbol.asyncDispose]());
beforeEach(() => world.reset());

const words: Readonly<Record<DbProtocol, { readonly denied: RegExp; readonly unauthenticated: RegExp }>> = {
  postgres: { denied: /C28000\.Maccess denied/, unauthenticated: /C28000\.Mno client certificate/ },
  mysql: { denied: /^.{7}#28000access denied/, unauthenticated: /#28000no client certificate/ },
  mongodb: { denied: /errmsg.*access denied.*Unauthorized/, unauthenticated: /errmsg.*no client certificate.*AuthenticationFailed/ },
  redis: { denied: /^-NOPERM access denied/, unauthenticated: /^-NOAUTH no client certificate/ },
};

test.for(Object.keys(words) as DbProtocol[])("%s: refusals have the protocol's words and are in the audit log", async (protocol) => {
  const login = await world.cluster.login(`${protocol}-user`, { roles: ["dev"] });
  const whole = { certificate: login.tlsCertificate, privateKey: login.tlsPrivateKey };
  expect(await refusalOf(world, protocol, undefined)).toMatch(words[protocol].unauthenticated);
  expect(await refusalOf(world, protocol, whole)).toMatch(words[protocol].denied);
  expect(await refusalOf(world, protocol, await world.certificate(protocol, "writer"))).toMatch(words[protocol].denied);
  const other = protocol === "redis" ? "mysql" : "redis";
  expect(await refusalOf(world, protocol, await world.certificate(other, "reader"))).toMatch(/this port is for/);
  world.refusal = { ok: false, error: new PlatformError("denied", "access denied: the agent says so") };
  expect(await refusalOf(world, protocol, await world.certificate(protocol, "reader"))).toMatch(/the agent says so/);
  await expect.poll(async () => JSON.stringify(await world.cluster.events("auth"))).toContain("not for one database");
});

test("a database that no agent offers, a locked user, and a removed one", async () => {
  const certificate = await world.certificate("postgres", "reader");
  expect(await refusalOf(world, "postgres", await world.certificate("nothing", "reader"))).toMatch(/C3D000\.Mno connected agent offers database/);
  const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "alice" } } };
  await world.cluster.admin.putResource({ json: JSON.stringify(lock) });
  await expect.poll(async () => await refusalOf(world, "postgres", certificate)).toMatch(/C28000\.M.*lock/);
  await world.cluster.admin.deleteResource({ kind: "lock", name: "l" });
  const echoed = async (): Promise<Buffer> => {
    const tls = await postgresClient(world, certificate);
    tls.write(startup);
    const bytes = await nextBytes(tls);
    tls.destroy();
    return bytes;
  };
  await expect.poll(async () => (await echoed()).length).toBe(startup.length);
  expect(world.reached.length).toBeGreaterThan(0);
});

test("two agents: connections of one account share one where clients name a connection on another one, until it refuses one or is gone", async () => {
  world.serve = (client) => void client.end(errorPacket(0, { code: 1053, state: "08S01", message: "the server stops" }));
  const hosts = async (protocol: DbProtocol, connections: number): Promise<Set<string>> => {
    world.reached.splice(0);
    const certificate = await world.certificate(protocol, "reader");
    for (let count = 0; count < connections; count += 1) await refusalOf(world, protocol, certificate);
    return new Set(world.reached.map(({ host }) => host));
  };
  const second = await world.secondAgent();
  for (const protocol of ["mysql", "mongodb"] as const) expect((await hosts(protocol, 6)).size).toBe(1);
  world.refusal = { ok: false, error: new PlatformError("limit", "no more sessions") };
  expect((await hosts("mysql", 30)).size).toBe(2);
  world.refusal = undefined;
  second[Symbol.dispose]();
  await expect.poll(async () => [...(await hosts("mysql", 1))]).toEqual([world.credentials.hostId]);
});

test("MongoDB and Redis: TLS at once, and every byte after it is the agent's", async () => {
  for (const protocol of ["mongodb", "redis"] as const) {
    const tls = await world.tls(await world.dial(protocol), await world.certificate(protocol, "reader"));
    tls.write("any bytes");
    expect(String(await nextBytes(tls))).toBe("any bytes");
    tls.destroy();
  }
  expect(world.reached.map(({ request }) => request.target)).toEqual(["mongodb", "redis"]);
});

test("Redis: a client whose agent is lost gets an error for the command that awaits its reply", async () => {
  world.serve = (client) => void client.once("data", () => client.once("data", () => client.destroy()).write("+PONG\r\n"));
  const tls = await world.tls(await world.dial("redis"), await world.certificate("redis", "reader"));
  tls.write("PING\r\n");
  expect(String(await nextBytes(tls))).toBe("+PONG\r\n");
  tls.write("*1\r\n$4\r\nPING\r\n");
  expect(String(await allBytes(tls))).toBe("-ERR the connection to the agent of this database was lost (connect again)\r\n");
});
