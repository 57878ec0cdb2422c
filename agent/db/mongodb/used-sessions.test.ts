import { Binary, type Document, serialize, UUID } from "bson";
import { describe, expect, test } from "vitest";
import { judgeCommand } from "./judge-command.ts";
import { UsedSessions } from "./used-sessions.ts";
import { opMsg, readRequest } from "./wire-message.ts";

const bson = (document: Document): Buffer => Buffer.from(serialize(document));
const [one, two] = [new UUID(), new UUID()];
const kill = (...ids: readonly Document[]): Buffer => bson({ killSessions: ids, $db: "admin" });

describe("the sessions of a user", () => {
  test("are those that the user's connections to the database have used", () => {
    const used = new UsedSessions();
    const [first, second, other, elsewhere] = [used.open("a", "db"), used.open("a", "db"), used.open("b", "db"), used.open("a", "db2")];
    first.note(bson({ find: "c", lsid: { id: one } }));
    other.note(bson({ find: "c", lsid: { id: two } }));
    const ends = (ids: readonly Document[]): boolean[] => [first, second, other, elsewhere].map((sessions) => sessions.areOwn(kill(...ids)));
    expect(ends([{ id: one }])).toEqual([true, true, false, false]);
    expect(ends([{ id: two }])).toEqual([false, false, true, false]);
    expect(ends([{ id: one }, { id: two }])).toEqual([false, false, false, false]);
    expect(ends([])).toEqual([false, false, false, false]);
    first.close();
    second.close();
    expect(used.open("a", "db").areOwn(kill({ id: one }))).toBe(false);
  });

  test("are stated by their ids alone", () => {
    const sessions = new UsedSessions().open("a", "db");
    sessions.note(bson({ find: "c", lsid: { id: one } }));
    const uid = new Binary(Buffer.alloc(32));
    for (const entry of [{ id: one, uid }, { uid, id: one }, { id: one, extra: 1 }, {}, { id: 7 }, { id: one.toString() }]) {
      expect(sessions.areOwn(kill(entry))).toBe(false);
    }
    for (const killSessions of [1, { 0: { id: one } }, "x", [one], [{ id: new Binary(one.buffer, 0) }]]) {
      expect(sessions.areOwn(bson({ killSessions }))).toBe(false);
    }
    for (const lsid of [1, { id: 7 }, { id: "x" }, {}, [one]]) sessions.note(bson({ find: "c", lsid }));
    expect(sessions.areOwn(kill({ id: one }))).toBe(true);
  });

  test("are 4,096 at most; the one that was used last is forgotten last", () => {
    const sessions = new UsedSessions().open("a", "db");
    sessions.note(bson({ ping: 1, lsid: { id: one } }));
    sessions.note(bson({ ping: 1, lsid: { id: two } }));
    for (let count = 0; count < 4_095; count += 1) {
      sessions.note(bson({ ping: 1, lsid: { id: new UUID() } }));
      if (count === 2_000) sessions.note(bson({ ping: 1, lsid: { id: one } }));
    }
    expect([one, two].map((id) => sessions.areOwn(kill({ id })))).toEqual([true, false]);
  });
});

test("killSessions is for own sessions, and for those who may use all databases", () => {
  const sessions = new UsedSessions().open("a", "db");
  sessions.note(bson({ find: "c", lsid: { id: one } }));
  const judged = (command: Buffer, mayUse: (name: string) => boolean) => {
    const message = opMsg({ requestId: 1 }, command);
    return judgeCommand(readRequest(message, message.length), { account: "alice", mayUse, areOwnSessions: (stated) => sessions.areOwn(stated) });
  };
  const mayUseOrders = (name: string): boolean => name === "orders" || name === "admin";
  expect(judged(kill({ id: one }), mayUseOrders)).toEqual({ kind: "pass" });
  for (const command of [kill(), kill({ id: two }), kill({ id: one }, { id: two })]) {
    expect(judged(command, mayUseOrders)).toMatchObject({
      kind: "refuse",
      error: { code: "denied", message: expect.stringContaining("killSessions") },
    });
    expect(judged(command, () => true)).toEqual({ kind: "pass" });
  }
});
