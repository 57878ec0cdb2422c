import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeStreamReply } from "../../../core/transport/stream-request.ts";
import { joinTestHost, startTestAgent, type TestAgent } from "../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";
import { askForStream, connectStream } from "../../../test/inside/open-stream.ts";
import type { UserKeys } from "../../../test/inside/user-keys.ts";
import { until } from "../../../test/world/until.ts";

let cluster: TestCluster;
let foreign: TestCluster;
let agent: TestAgent;
let twins: readonly TestAgent[];
let users: Record<"alice" | "bob" | "mallory", UserKeys>;
let offsetMs = 0;

beforeAll(async () => {
  cluster = await startTestCluster({ now: () => new Date(Date.now() + offsetMs) });
  foreign = await startTestCluster();
  agent = await startTestAgent(cluster, { hostname: "web-1", labels: { env: "prod" } });
  twins = [await startTestAgent(cluster, { hostname: "twin" }), await startTestAgent(cluster, { hostname: "twin", labels: { env: "test" } })];
  await cluster.putRole("tester", { allow: { logins: ["root"], node_labels: { env: "test" } } });
  users = {
    alice: await cluster.login("alice"),
    bob: await cluster.login("bob", { roles: ["tester"] }),
    mallory: await foreign.login("mallory"),
  };
});
afterAll(async () => {
  await Promise.all([cluster[Symbol.asyncDispose](), foreign[Symbol.asyncDispose]()]);
});

function closed(tls: TLSSocket): Promise<unknown> {
  return new Promise((resolve) => tls.once("close", resolve));
}

/** Until an event that matches was written. */
async function audited(match: Record<string, unknown>): Promise<void> {
  await expect.poll(async () => await cluster.events("auth")).toContainEqual(expect.objectContaining(match));
}

describe("a stream from a client to an agent", () => {
  test("carries bytes both ways; the agent learns who asks", async () => {
    const { tls, reply } = await askForStream(cluster, users.alice, { target: "web-1" });
    expect(reply).toEqual({ ok: true });
    tls.write("hello");
    const [echoed] = (await once(tls, "data")) as [Buffer];
    expect(echoed.toString()).toBe("hello");
    const last = agent.requests.at(-1);
    expect(last).toMatchObject({ kind: "ssh", target: "web-1", parameters: { login: "root" } });
    expect(last?.clientAddress).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(last?.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(last?.accessRevision).not.toBe("");
    tls.destroy();
  });

  test("carries the end of the client's bytes alone, and the rest of the agent's", async () => {
    const { tls } = await askForStream(cluster, users.alice, { target: agent.id });
    const big = Buffer.alloc(1_000_000, "x");
    tls.end(big);
    let received = 0;
    for await (const chunk of tls) received += (chunk as Buffer).length;
    expect(received).toBe(big.length);
  });

  test("brings the agent's own refusal to the client", async () => {
    const refusal = new PlatformError("denied", "not on my host", { hint: "ask the admin" });
    const own = await startTestAgent(cluster, {
      hostname: "grumpy",
      onStream: (channel) => channel.end(encodeStreamReply({ ok: false, error: refusal })),
    });
    const { reply } = await askForStream(cluster, users.alice, { target: "grumpy" });
    expect(reply).toMatchObject({ ok: false, error: { code: "denied", message: "not on my host", hint: "ask the admin" } });
    own.end();
  });

  test("is refused and audited for a label that no role allows", async () => {
    const { reply } = await askForStream(cluster, users.bob, { target: "web-1" });
    expect(reply).toMatchObject({ ok: false, error: { code: "denied", message: expect.stringContaining("role tester does not allow its labels") } });
    await audited({ user: "bob", server_name: "web-1", login: "root", error: expect.stringContaining("access denied") });
  });

  test("is refused for a login that no role lists", async () => {
    const { reply } = await askForStream(cluster, users.alice, { target: "web-1", login: "postgres" });
    expect(reply).toMatchObject({ ok: false, error: { code: "denied", message: expect.stringContaining("postgres") } });
  });

  test("is refused for a host that is not connected", async () => {
    const { reply } = await askForStream(cluster, users.alice, { target: "nowhere" });
    expect(reply).toMatchObject({ ok: false, error: { code: "not_found", message: expect.stringContaining('"nowhere"') } });
    await audited({ user: "alice", server_name: "nowhere" });
  });

  test("is refused for an ambiguous name, with the ids to choose from", async () => {
    const { reply } = await askForStream(cluster, users.alice, { target: "twin" });
    expect(reply).toMatchObject({ ok: false, error: { code: "conflict" } });
    for (const { id } of twins) expect(reply.ok ? "" : reply.error.hint).toContain(id);
    const { reply: byId } = await askForStream(cluster, users.alice, { target: twins[0]?.id ?? "" });
    expect(byId).toEqual({ ok: true });
  });

  test("is refused for the name of a host that is away when another one has joined under it; ids still work, and the removal frees the name", async () => {
    const old = await startTestAgent(cluster, { hostname: "db-1" });
    old.end();
    await until("it is away", async () => (await askForStream(cluster, users.alice, { target: old.id })).reply.ok === false);
    const newcomer = await startTestAgent(cluster, { hostname: "db-1" });
    for (const target of ["db-1", "DB-1", "db-1.main"]) {
      const { reply } = await askForStream(cluster, users.alice, { target });
      expect(reply, target).toMatchObject({ ok: false, error: { code: "conflict", hint: expect.stringContaining(`tctl nodes rm ${old.id}`) } });
    }
    expect(newcomer.requests).toEqual([]);
    expect((await askForStream(cluster, users.alice, { target: newcomer.id })).reply).toEqual({ ok: true });
    await cluster.admin.deleteResource({ kind: "node", name: old.id });
    expect((await askForStream(cluster, users.alice, { target: "db-1" })).reply).toEqual({ ok: true });
  });

  test("means the only host of an ambiguous name that the user may reach", async () => {
    const { reply } = await askForStream(cluster, users.bob, { target: "twin" });
    expect(reply).toEqual({ ok: true });
    expect(twins[1]?.requests).toHaveLength(1);
  });

  test("is refused and audited with a certificate of another cluster", async () => {
    const { reply } = await askForStream(cluster, users.mallory, { target: "web-1" });
    expect(reply).toMatchObject({ ok: false, error: { code: "unauthenticated", message: expect.stringContaining("not issued by this cluster") } });
    await audited({ user: "mallory", error: expect.stringContaining("not issued by this cluster") });
  });

  test("is refused without a certificate", async () => {
    const { reply } = await askForStream(cluster, undefined, { target: "web-1" });
    expect(reply).toMatchObject({ ok: false, error: { code: "unauthenticated", hint: expect.stringContaining("tsh login") } });
  });

  test("is refused and audited with an expired certificate", async () => {
    offsetMs = 40 * 3_600_000;
    try {
      const { reply } = await askForStream(cluster, users.alice, { target: "web-1" });
      expect(reply).toMatchObject({ ok: false, error: { code: "unauthenticated", message: expect.stringContaining("expired") } });
    } finally {
      offsetMs = 0;
    }
    await audited({ user: "alice", error: expect.stringContaining("expired") });
  });

  test("a request that is too long or garbage ends that connection only", async () => {
    const long = await connectStream(cluster, users.alice);
    long.write(Buffer.of(0x7f, 0xff, 0xff, 0xff));
    await closed(long);
    const garbage = await connectStream(cluster, users.alice);
    garbage.write(Buffer.from([0, 0, 0, 3, 9, 9, 9]));
    garbage.resume();
    await closed(garbage);
    const { reply } = await askForStream(cluster, users.alice, { target: "web-1" });
    expect(reply).toEqual({ ok: true });
  });
});

describe("without the auth service", () => {
  test("what was known serves for half a minute, and then everybody is refused", async () => {
    let skewMs = 0;
    await using own = await startTestCluster({ clock: () => performance.now() + skewMs });
    await startTestAgent(own, { hostname: "web-1" });
    await joinTestHost(own, "twin");
    const twin = await startTestAgent(own, { hostname: "twin" });
    const carol = await own.login("carol");
    expect((await askForStream(own, carol, { target: "web-1" })).reply).toEqual({ ok: true });
    await own.auth.close();
    expect((await askForStream(own, carol, { target: "web-1" })).reply).toEqual({ ok: true });
    // The proxy knows who is who without asking.
    const byName = await askForStream(own, carol, { target: "twin" });
    expect(byName.reply).toMatchObject({ ok: false, error: { code: "conflict", hint: expect.stringContaining("id") } });
    expect((await askForStream(own, carol, { target: twin.id })).reply).toEqual({ ok: true });
    skewMs = 31_000;
    expect((await askForStream(own, carol, { target: "web-1" })).reply).toMatchObject({ ok: false });
  });
});
