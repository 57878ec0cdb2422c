import { expect, test } from "vitest";
import { CancelKeys, type CancelTarget } from "./cancel-keys.ts";

const target: CancelTarget = { user: "alice", database: "orders", cancel: async () => {} };
const asker = { user: "alice", database: "orders" };
const own = { pid: 77, secret: Buffer.alloc(4) };

test("a key finds its session, until it is disposed of", () => {
  const keys = new CancelKeys();
  const issued = keys.issue(target, own);
  if (issued === undefined) throw new Error("no key");
  expect(issued.key.pid).toBe(77);
  expect(issued.key.secret).toHaveLength(4);
  expect(keys.find(issued.key, asker)).toBe(target);
  issued[Symbol.dispose]();
  issued[Symbol.dispose]();
  expect([keys.find(issued.key, asker), keys.size]).toEqual([undefined, 0]);
});

test("only the user who began the session finds it, at the same database, with the whole secret", () => {
  const keys = new CancelKeys();
  const { key } = keys.issue(target, { pid: 77, secret: Buffer.alloc(32) }) ?? { key: own };
  expect(key.secret).toHaveLength(32);
  expect(keys.find(key, { ...asker, user: "mallory" })).toBeUndefined();
  expect(keys.find(key, { ...asker, database: "hr" })).toBeUndefined();
  expect(keys.find({ ...key, secret: key.secret.subarray(0, 4) }, asker)).toBeUndefined();
  expect(keys.find({ ...key, secret: Buffer.alloc(32) }, asker)).toBeUndefined();
  expect(keys.find({ ...key, pid: 78 }, asker)).toBeUndefined();
  expect(keys.find(key, asker)).toBe(target);
});

test("sessions of two servers may have the same process id", () => {
  const keys = new CancelKeys();
  const other = { ...target };
  const [first, second] = [keys.issue(target, own), keys.issue(other, own)];
  expect(first && keys.find(first.key, asker)).toBe(target);
  expect(second && keys.find(second.key, asker)).toBe(other);
  first?.[Symbol.dispose]();
  expect(second && keys.find(second.key, asker)).toBe(other);
});

test("there are only so many keys", () => {
  const keys = new CancelKeys(1);
  const issued = keys.issue(target, own);
  expect(keys.issue(target, { ...own, pid: 78 })).toBeUndefined();
  issued?.[Symbol.dispose]();
  expect(keys.issue(target, own)).toBeDefined();
});

test("a key alone is enough for a session whose client has no certificate to cancel with, and for no other", () => {
  const keys = new CancelKeys();
  const open = { ...target, isOpen: true };
  const [closed, issued] = [keys.issue(target, own), keys.issue(open, own)];
  if (closed === undefined || issued === undefined) throw new Error("no key");
  expect(keys.findOpen(issued.key)).toBe(open);
  expect(keys.findOpen(closed.key)).toBeUndefined();
  expect(keys.findOpen({ ...issued.key, pid: 78 })).toBeUndefined();
  expect(keys.findOpen({ pid: 77, secret: Buffer.from(issued.key.secret).map((byte) => byte ^ 1) as Buffer })).toBeUndefined();
  issued[Symbol.dispose]();
  expect(keys.findOpen(issued.key)).toBeUndefined();
});
