import { serialize } from "bson";
import { afterEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { EngineSessionOptions } from "../../../test/inside/engine-session.ts";
import { expectClientMayLeave, expectStaysAtClient, expectStaysAtServer, HostilePeers, roadsOf } from "../../../test/inside/hostile-peers.ts";
import type { Cut, ScriptedPart } from "../../../test/inside/scripted-server.ts";
import { HeldCommands } from "./held-commands.ts";
import { judgeCommand } from "./judge-command.ts";
import { mongodbEngine } from "./serve-mongodb.ts";
import { opMsg, readRequest } from "./wire-message.ts";

const document = (facts: object): Buffer => Buffer.from(serialize(facts));
const hello = opMsg({ requestId: 7 }, document({ hello: 1, $db: "admin" }));
const find = opMsg({ requestId: 8 }, document({ find: "c", $db: "orders" }));
const helloAnswer = opMsg({ requestId: 1, responseTo: 7 }, document({ isWritablePrimary: true, maxWireVersion: 21, ok: 1 }));
const loginAnswer = opMsg({ requestId: 2, responseTo: 2 }, document({ ok: 1 }));
const found = opMsg({ requestId: 3, responseTo: 8 }, document({ cursor: { firstBatch: [{ a: 1 }] }, ok: 1 }));
const got = (received: Buffer): boolean => received.length > 4 && received.length >= received.readInt32LE(0);
const parts: readonly ScriptedPart[] = [helloAnswer, loginAnswer, found].map((send) => ({ when: got, send }));

describe("hostile peers of a MongoDB session", () => {
  const peers = new HostilePeers();
  afterEach(() => peers.close());

  const start = (cut?: Cut, options: Partial<EngineSessionOptions> = {}, engine = mongodbEngine()) =>
    peers.open({ engine, parts, cut, protocol: "mongodb", asked: { user: "alice" }, mayUse: () => true, ...options });

  async function loggedIn() {
    const one = await start();
    let length = 0;
    one.near.on("data", (chunk: Buffer) => (length += chunk.length)).write(hello);
    await expect.poll(() => length).toBeGreaterThan(0);
    return one;
  }

  test("endless answers for a client that does not read stay at the server", async () => {
    const one = await loggedIn();
    one.near.pause();
    await expectStaysAtServer(one, opMsg({ responseTo: 99 }, document({ text: "x".repeat(1_000_000) })));
  });

  test("endless commands for a server that does not read stay at the client", async () => {
    const one = await loggedIn();
    roadsOf(one).upstream.pause();
    await expectStaysAtClient(one, Buffer.concat(Array.from({ length: 2_000 }, () => find)));
  });

  test("a refused client's large command is not collected, and gets the reason", async () => {
    const judge = (): never => {
      throw new PlatformError("denied", "no role allows alice");
    };
    const { near, ended: over } = await start(undefined, { judge });
    let text = "";
    near.on("data", (chunk: Buffer) => (text += chunk.toString("latin1"))).write(hello);
    await expect.poll(() => text.length).toBeGreaterThan(0);
    // Its end never comes: the answer does not wait for it.
    near.write(opMsg({ requestId: 9 }, document({ insert: "c", documents: [{ a: "x".repeat(4_000_000) }], $db: "orders" })).subarray(0, 100_000));
    await expect.poll(() => text).toContain("no role allows alice");
    near.end();
    expect(await over).toMatchObject({ code: "denied" });
  });

  test("clients that never complete their commands go before they hold the memory of all, the oldest first", async () => {
    const whole = opMsg({ requestId: 9 }, document({ find: "c", filter: { a: "x".repeat(200_000) }, $db: "orders" }));
    const engine = mongodbEngine(new HeldCommands(900_000));
    const sessions: Awaited<ReturnType<typeof start>>[] = [];
    const over: (PlatformError | undefined)[] = [];
    for (let count = 0; count < 6; count += 1) {
      const one = await start(undefined, {}, engine);
      void one.ended.then((why) => over.push(why));
      sessions.push(one);
      one.near
        .on("error", () => {})
        .resume()
        .write(hello);
      one.near.write(whole.subarray(0, -1));
      await expect.poll(() => over.length > 0 || one.bytes.received > 190_000).toBe(true);
    }
    await expect.poll(() => over).toMatchObject([{ code: "limit" }, { code: "limit" }]);
    expect(sessions.map(({ session }) => session.client.destroyed)).toEqual(sessions.map((_, index) => index < 2));
  });

  test("a server may leave after any byte", async () => {
    const whole = helloAnswer.length + loginAnswer.length + found.length;
    for (let at = 0; at < whole; at += 11) {
      const one = await start({ at, how: at % 2 === 0 ? "end" : "destroy" });
      one.near.on("error", () => {}).resume();
      one.near.write(hello);
      one.near.end(find);
      expect(await one.ended, `after ${at} bytes`).not.toMatchObject({ code: "internal" });
      expect(one.session.client.destroyed).toBe(true);
      await peers.close();
    }
  });

  test("a client may leave after any byte", async () => {
    await expectClientMayLeave(peers, { open: () => start(), bytes: Buffer.concat([hello, find]), step: 5 });
  });
});

describe("commands that are made to be slow to read", () => {
  const field = (type: number, name: string, value: Buffer): Buffer => Buffer.concat([Buffer.of(type), Buffer.from(`${name}\0`), value]);
  const documentOf = (...fields: readonly Buffer[]): Buffer => {
    const body = Buffer.concat(fields);
    const length = Buffer.alloc(4);
    length.writeInt32LE(body.length + 5);
    return Buffer.concat([length, body, Buffer.of(0)]);
  };
  const many = (one: Buffer, bytes: number): Buffer => Buffer.alloc(Math.floor(bytes / one.length) * one.length, one);
  const text = (value: string): Buffer =>
    documentOf(Buffer.from(value))
      .fill(0, 0, 4)
      .fill(value.length + 1, 0, 1);
  const nothing = Buffer.alloc(0);
  const sequence = (name: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head[0] = 1;
    head.writeInt32LE(4 + name.length + 1 + body.length, 1);
    return Buffer.concat([head, Buffer.from(`${name}\0`), body]);
  };
  const rules = { account: "alice", mayUse: () => true };
  const judged = (command: Buffer, ...sequences: readonly Buffer[]) => {
    const plain = opMsg({ requestId: 1 }, command);
    const message = Buffer.concat([plain, ...sequences]);
    message.writeInt32LE(message.length, 0);
    return judgeCommand(readRequest(message, message.length), rules);
  };
  const aggregate = (...stages: readonly Buffer[]): Buffer =>
    documentOf(field(2, "aggregate", text("c")), field(4, "pipeline", documentOf(...stages)), field(2, "$db", text("orders")));
  const explain = (fields: Buffer): Buffer =>
    documentOf(field(3, "explain", documentOf(field(2, "aggregate", text("c")), fields)), field(2, "$db", text("orders")));
  const bulkWrite = documentOf(field(16, "bulkWrite", Buffer.alloc(4)), field(2, "$db", text("admin")));

  test.for<readonly [what: string, judge: () => unknown]>([
    ["8 MB of fields without a value", () => judged(aggregate(many(field(10, "", nothing), 8_000_000)))],
    ["a batch with 16 MB in one namespace", () => judged(bulkWrite, sequence("nsInfo", documentOf(many(field(10, "", nothing), 16_000_000))))],
  ])("%s are read without holding up the others", ([, judge]) => {
    const before = process.cpuUsage();
    expect(judge()).toEqual({ kind: "pass" });
    const { user, system } = process.cpuUsage(before);
    // As an object for each field it was a second and a half, and three.
    expect((user + system) / 1000).toBeLessThan(1_200);
  });

  test.for<readonly [what: string, judge: () => unknown]>([
    [
      "a thousand fields at the top",
      () => judged(documentOf(field(2, "ping", text("c")), field(2, "$db", text("x")), ...range(1_000).map((n) => field(10, `f${n}`, nothing)))),
    ],
    ["a batch of 100,001 entries", () => judged(bulkWrite, sequence("ops", many(documentOf(), 500_005)))],
    ["a batch of 100,001 namespaces in the command", () => judged(bulkOf(many(field(3, "", documentOf()), 700_007)))],
    ["a million fields in explain", () => judged(explain(many(field(10, "", nothing), 8_000_000)))],
    ["nine document sequences", () => judged(bulkWrite, ...range(9).map(() => sequence("ops", nothing)))],
    ["65 databases", () => judged(aggregate(...range(65).map((n) => field(3, "$out", documentOf(field(2, "db", text(`d${n}`)))))))],
  ])("%s are too many", ([, judge]) => {
    expect(judge).toThrow(expect.objectContaining({ code: "invalid" }));
  });

  const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
  const bulkOf = (entries: Buffer): Buffer =>
    documentOf(field(16, "bulkWrite", Buffer.alloc(4)), field(4, "nsInfo", documentOf(entries)), field(2, "$db", text("admin")));
});
