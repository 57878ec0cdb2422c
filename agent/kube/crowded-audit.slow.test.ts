import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { silentLog } from "../../core/log/log.ts";
import { openSpool, type Spool } from "../audit/spool.ts";
import { HeldRoom } from "../audit/spool-room.ts";
import { apiWorldOfFile, kubeRole } from "./testing/api-world.ts";
import { enterSeen, podPath, socketHead, socketRequest, spdyRequest } from "./testing/upgrade-client.ts";

const world = await apiWorldOfFile();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "crowded-audit-"));
});
afterAll(async () => await rm(folder, { recursive: true }));

const pods = "/api/v1/namespaces/a/pods";
const webAlone = kubeRole("access", [{ kind: "pod", namespace: "a", name: "web-*", verbs: ["get", "deletecollection"] }]);

/** An audit log with room, or not, and what has got into it. */
function audit(hasRoom: () => boolean | Promise<boolean>) {
  const events: AuditFacts[] = [];
  const hold: Spool["hold"] = async (ask) => ((await hasRoom()) ? new HeldRoom(ask, () => {}) : undefined);
  return { events, record: async (facts: AuditFacts) => void events.push(facts), hold };
}

/** A spool where nothing waits for room. */
function atOnce(spool: Spool): Pick<Spool, "record" | "hold"> & { recorded: number } {
  const log = {
    recorded: 0,
    record: async (...event: Parameters<Spool["record"]>): Promise<void> => {
      await spool.record(...event);
      log.recorded += 1;
    },
    hold: async (ask: Parameters<Spool["hold"]>[0]) => await spool.hold({ ...ask, waitMs: 0 }),
  };
  return log;
}

async function ask(used: { readonly audit: Pick<Spool, "record" | "hold">; readonly method?: string; readonly path?: string }) {
  const { tls } = await world.enter({ access: { roles: [webAlone] }, deps: { audit: used.audit } });
  const sent = request({ createConnection: () => tls, host: "kube.test", path: used.path ?? podPath, method: used.method ?? "GET" }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

const refused = { status: 503, body: expect.stringContaining("this agent cannot record requests right now") };

test("a request waits for room in the audit log", async () => {
  const [asked, room] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
  const log = audit(() => {
    asked.resolve();
    return room.promise;
  });
  const answer = ask({ audit: log });
  await asked.promise;
  expect(world.requests).toEqual([]);
  room.resolve(true);
  expect(await answer).toMatchObject({ status: 200 });
  await expect.poll(() => log.events).toMatchObject([{ event: "kube.request", response_code: 200 }]);
});

test("while the spool is crowded requests are refused, and each that was made is in it", async () => {
  const spool = await openSpool({ folder, clusterName: "inside", log: silentLog, maxBytes: 100_000 });
  const log = atOnce(spool);
  const answers = [];
  do answers.push(await ask({ audit: log }));
  while (answers.at(-1)?.status === 200);
  expect(answers.at(-1)).toMatchObject(refused);
  const made = answers.length - 1;
  expect(world.requests).toHaveLength(made);
  // What the roles refuse has room of its own, what is refused for want of room has none.
  for (const path of [podPath, `${pods}/db-1`]) await ask({ audit: log, path });
  await expect.poll(() => log.recorded).toBe(made + 1);
  const batch = (await spool.next()) ?? expect.fail("no events");
  expect(batch.events.map((line) => JSON.parse(line) as object)).toEqual([
    ...Array.from({ length: made }, () => expect.objectContaining({ response_code: 200 })),
    expect.objectContaining({ response_code: 403, request_path: `${pods}/db-1`, code: "T3009W" }),
  ]);
  await spool.remove(batch);
  expect(await ask({ audit: log })).toMatchObject({ status: 200 });
  await spool.close();
});

test("watches that end while the auth service is away leave the room of others: each has had its own since it began", async () => {
  const spool = await openSpool({ folder, clusterName: "inside", log: silentLog, maxBytes: 200_000 });
  const log = atOnce(spool);
  const open: { end(): unknown }[] = [];
  world.onRequest = (_request, response) => {
    response.write("{}");
    open.push(response);
  };
  const watch = async (): Promise<{ readonly status: number | undefined; readonly body: Promise<string> }> => {
    const { tls } = await world.enter({ deps: { audit: log } });
    const sent = request({ createConnection: () => tls, host: "kube.test", path: `${pods}?watch=1` }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return { status: response.statusCode, body: text(response) };
  };
  const watches = [];
  do watches.push(await watch());
  while (watches.at(-1)?.status === 200);
  expect(open).toHaveLength(watches.length - 1);
  // Their user's refusals have room of their own.
  expect(await ask({ audit: log, path: `${pods}/db-1` })).toMatchObject({ status: 403 });
  // Others that come in masses take what is left to them.
  const masses = async (user: number): Promise<boolean> => {
    using room = await spool.hold({ owner: { service: "app", user: `u${user}` }, bytes: 1_100, waitMs: 0 });
    if (room !== undefined) await spool.record({ event: "auth", error: "x".repeat(500) }, { isPast: true, room });
    return room !== undefined;
  };
  for (let user = 0; user < 10; user += 1) while (await masses(user));
  for (const one of open) one.end();
  await Promise.all(watches.map(({ body }) => body));
  const ends = (events: readonly string[]): number => events.filter((line) => line.includes('"phase":"end"')).length;
  const batch = (await spool.next()) ?? expect.fail("no events");
  let found = ends(batch.events);
  const refusals = batch.events.filter((line) => line.includes("db-1"));
  // The quarter of sessions.
  for (let recorded = 0; recorded < 48_000; recorded += 2_000) await spool.record({ event: "auth", error: "x".repeat(1_700) });
  await spool.remove(batch);
  for (let more = await spool.next(); more !== undefined; more = await spool.next()) {
    found += ends(more.events);
    refusals.push(...more.events.filter((line) => line.includes("db-1")));
    await spool.remove(more);
  }
  expect([found, refusals.length]).toEqual([open.length, 1]);
  await spool.close();
});

test("no program begins while there is no room", async () => {
  const { tls, seen } = await enterSeen(world, { deps: { audit: audit(() => false) } });
  tls.write(spdyRequest(`${podPath}/exec?command=sh`));
  await seen.ended;
  expect(seen.bytes.toString()).toMatch(/^HTTP\/1\.1 503 /);
  expect(world.requests).toEqual([]);
});

test("a program over a WebSocket, which begins with its request, has room for its beginning from before", async () => {
  const spool = await openSpool({ folder, clusterName: "inside", log: silentLog, maxBytes: 100_000 });
  const fill = async (): Promise<void> => {
    for (const length of [1_700, 1]) while (await recorded({ event: "auth", error: "x".repeat(length) }));
  };
  const recorded = async (facts: AuditFacts): Promise<boolean> =>
    await spool.record(facts).then(
      () => true,
      () => false,
    );
  world.onUpgrade = (_request, socket) => void fill().then(() => socket.write(socketHead));
  const { tls, seen } = await enterSeen(world, { deps: { audit: spool } });
  tls.write(socketRequest(`${podPath}/exec?command=id&stdout=true`, "v5.channel.k8s.io"));
  await seen.until("\r\n\r\n");
  expect(seen.bytes.toString()).toMatch(/^HTTP\/1\.1 101 /);
  const lines: string[] = [];
  for (let batch = await spool.next(); batch !== undefined; batch = await spool.next()) {
    lines.push(...batch.events);
    await spool.remove(batch);
  }
  const events = lines.map((line) => JSON.parse(line) as object);
  expect(events).toContainEqual(expect.objectContaining({ event: "session.start", kubernetes_pod_name: "web-1" }));
  expect(events).toContainEqual(expect.objectContaining({ event: "exec", command: "id" }));
  tls.destroy();
  await spool.close();
});

test("a program over a WebSocket is not asked for while there is no room for its beginning", async () => {
  let left = 1;
  const { tls, seen } = await enterSeen(world, {
    deps: {
      audit: audit(() => {
        left -= 1;
        return left >= 0;
      }),
    },
  });
  tls.write(socketRequest(`${podPath}/exec?command=id&stdout=true`, "v5.channel.k8s.io"));
  await seen.ended;
  expect(seen.bytes.toString()).toMatch(/^HTTP\/1\.1 503 .*cannot record requests right now/s);
  expect(world.requests.filter(({ url }) => url.includes("/exec"))).toEqual([]);
});

test("of several objects those are deleted for whose events there is room", async () => {
  const items = ["web-1", "web-2"].map((name) => ({ metadata: { name, namespace: "a" } }));
  world.onRequest = (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ kind: "PartialObjectMetadataList", metadata: {}, items }));
  };
  let left = 2;
  const log = audit(() => {
    left -= 1;
    return left >= 0;
  });
  expect(await ask({ audit: log, method: "DELETE", path: pods })).toMatchObject(refused);
  expect(world.requests.map(({ method, url }) => `${method} ${url.split("?")[0]}`)).toEqual([`GET ${pods}`, `DELETE ${pods}/web-1`]);
  await expect
    .poll(() => log.events)
    .toMatchObject([
      { resource_name: "web-1", response_code: 200 },
      { request_path: pods, response_code: 503 },
    ]);
});
