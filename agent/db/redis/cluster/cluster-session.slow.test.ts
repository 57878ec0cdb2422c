import { afterEach, beforeEach, expect, test } from "vitest";
import { MarkReader, markSecretBytes } from "../../../../core/databases/redis/member-marks.ts";
import { engineSession } from "../../../../test/inside/engine-session.ts";
import type { Database } from "../../database.ts";
import type { EngineSession } from "../../engine.ts";
import { TestServer } from "../testing/test-server.ts";
import { TestSession } from "../testing/test-session.ts";

/** Of a cluster whose first member is the seed, and the second another server. */
let redis: TestSession;
let other: TestServer;
let member: string;
let cluster: { readonly database: Database };

beforeEach(async () => {
  redis = await TestSession.start();
  other = new TestServer();
  member = `127.0.0.1:${await other.listen()}`;
  const { session } = await engineSession({ protocol: "redis", port: redis.port });
  session.client.destroy();
  cluster = { database: { ...session.database, options: new Map([["mode", "cluster"]]) } };
  redis.server.nodes = `a 127.0.0.1:${redis.port}@1 myself,master - 0 0 1 connected 0-1\nb ${member}@1 master - 0 0 1 connected 2-3\nc 127.0.0.1:9@1 handshake - 0 0 0 connected\n`;
  other.nodes = redis.server.nodes;
});
afterEach(async () => {
  other[Symbol.dispose]();
  await redis[Symbol.asyncDispose]();
});

async function open(change: Partial<EngineSession>): Promise<void> {
  await redis.open({}, { ...cluster, ...change });
}

/** All that comes until `end`, `<host:port>` in place of a mark. */
async function until(end: string): Promise<string> {
  const text = await redis.until(end);
  const pieces = new MarkReader().push(Buffer.from(text, "latin1"));
  return pieces.map((piece) => ("member" in piece ? `<${piece.member}>` : piece.bytes.toString("latin1"))).join("");
}

test("a redirection leads to a member's mark, and a member that is named is reached", async () => {
  await open({ member: "any" });
  redis.say("GET", "elsewhere");
  expect(await until("6379\r\n")).toBe("-MOVED 3999 127.0.0.1:<10.0.0.1:6379>\r\n");
  await open({ member });
  redis.say("GET", "k");
  expect(await until("k\r\n")).toBe("$1\r\nk\r\n");
  expect(other.seen).toEqual(["ACL WHOAMI", "GET k"]);
});

test.for(["10.0.0.9:6379", "127.0.0.1:9", "169.254.169.254:80", "x", "a b:1", `${"h".repeat(500)}:1`])(
  "%s is not a member, and is not dialled",
  async (stated) => {
    await open({ member: stated });
    redis.say("PING");
    expect(await until("")).toMatch(/^-ERR .* is not a member of the cluster orders now\r\n<end>$/);
    // The one connection was the question for the members.
    expect(redis.inside.dialled).toHaveLength(1);
    expect([redis.server.seen, other.seen]).toEqual([["ACL WHOAMI", "CLUSTER NODES"], []]);
  },
);

test("lists of members have marks, and are refused in a transaction", async () => {
  await open({ member: "any" });
  redis.say("CLUSTER", "NODES");
  redis.say("MULTI");
  redis.say("CLUSTER", "NODES");
  redis.say("GET", "last");
  const [list = "", after = ""] = (await until("last\r\n")).split("\r\n-ERR unknown command 'MULTI'");
  expect(list).toContain(`b 127.0.0.1:<${member}>@1 master`);
  expect(after).toMatch(/-ERR the members of a cluster are not listed within a transaction/);
  expect(redis.queries()).toEqual(["CLUSTER NODES", "MULTI", "CLUSTER NODES !", "GET last"]);
});

test("a server that wants a password: members are known once somebody has logged in", async () => {
  for (const server of [redis.server, other]) server.certified = undefined;
  await open({ member });
  redis.say("PING");
  expect(await until("")).toMatch(/^-ERR this agent does not know the members .*first port/);
  await open({ member: "any" });
  redis.say("AUTH", "alice", "sesame");
  redis.say("GET", "k");
  expect(await until("k\r\n")).toBe("+OK\r\n$1\r\nk\r\n");
  await open({ member });
  redis.say("AUTH", "alice", "sesame");
  redis.say("GET", "here");
  expect(await until("here\r\n")).toBe("+OK\r\n$4\r\nhere\r\n");
});

test("where the first member of the uri is away, the next one is reached", async () => {
  const { database } = cluster;
  const [host, port] = member.split(":");
  const addresses = [
    { host: "127.0.0.1", port: 9 },
    { host: String(host), port: Number(port) },
  ] as const;
  await open({ member: "any", database: { ...database, addresses } });
  redis.say("GET", "k");
  expect(await until("k\r\n")).toBe("$1\r\nk\r\n");
  expect([redis.server.seen, other.seen]).toEqual([[], ["ACL WHOAMI", "CLUSTER NODES", "GET k"]]);
});

test("a cluster of which no member can be reached is reported", async () => {
  await open({ member: "any", database: { ...cluster.database, addresses: [{ host: "127.0.0.1", port: 9 }] } });
  redis.say("PING");
  expect(await until("")).toMatch(/^-ERR could not reach the server/);
});

test("a server that lists no members is reported", async () => {
  redis.server.nodes = undefined;
  await open({ member: "any" });
  redis.say("PING");
  expect(await until("")).toMatch(/^-ERR the server did not list the members of its cluster: ERR This instance has cluster support disabled/);
});

test("a cluster of too many members is refused", async () => {
  redis.server.nodes = Array.from({ length: 300 }, (_, index) => `${index} 10.0.0.1:${index + 1}@1 master - 0 0 1 connected\n`).join("");
  await open({ member: "any" });
  redis.say("PING");
  expect(await until("")).toMatch(/^-ERR the cluster has more than 256 members/);
});

test("a database that is not a cluster has no members; any member is the server itself", async () => {
  await redis.open({}, { member });
  redis.say("PING");
  expect(await until("")).toMatch(/^-ERR database orders is not a cluster: it has no member /);
  await redis.open({}, { member: "any" });
  redis.say("CLUSTER", "SLOTS");
  redis.say("GET", "k");
  expect(await until("k\r\n")).toMatch(/^-ERR the members of a cluster cannot be reached from here: .*\r\n\$1\r\nk\r\n$/);
});

test("a session with a view begins with its secret, another one with each session", async () => {
  const secrets = new Set<string>();
  for (let count = 0; count < 3; count += 1) {
    await open({ member: "any" });
    redis.say("GET", "k");
    secrets.add((await redis.until("k\r\n")).slice(0, markSecretBytes));
  }
  expect(secrets.size).toBe(3);
});
