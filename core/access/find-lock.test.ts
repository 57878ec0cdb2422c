import { expect, test } from "vitest";
import { type Lock, type LockTarget, removalLockName } from "../resources/lock.ts";
import { findLock, lockedError } from "./find-lock.ts";

const now = new Date("2026-11-20T12:00:00Z");
const host = "7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11";
const lock = (target: LockTarget, more: object = {}): Lock => ({ kind: "lock", version: "v2", metadata: { name: "l-1" }, spec: { target, ...more } });
const userId = "a".repeat(32);
const removal = (id: string, user = "alice"): Lock => ({ ...lock({ user }), metadata: { name: removalLockName(id) } });
const facts = { user: "alice", userId, roles: ["ops", "dev"], login: "root", serverId: host, now };

test.for<readonly [why: string, locks: readonly Lock[], facts: object, found: boolean]>([
  ["none", [], {}, false],
  ["the user", [lock({ user: "alice" })], {}, true],
  ["another user", [lock({ user: "al" })], {}, false],
  ["a name in different case", [lock({ user: "Alice" })], {}, false],
  ["one of the user's roles", [lock({ role: "dev" })], {}, true],
  ["a role that the user lacks", [lock({ role: "admin" })], {}, false],
  ["a user of the role's name", [lock({ user: "ops" })], {}, false],
  ["the login", [lock({ login: "root" })], {}, true],
  ["another login", [lock({ login: "admin" })], {}, false],
  ["a login that is not known yet", [lock({ login: "root" })], { login: undefined }, false],
  ["the host", [lock({ server_id: host })], {}, true],
  ["another host", [lock({ server_id: host.replace("7", "8") })], {}, false],
  ["a host when none is involved", [lock({ server_id: host })], { serverId: undefined }, false],
  ["the second of two", [lock({ user: "bob" }), lock({ role: "ops" })], {}, true],
  ["one that is in force until later", [lock({ user: "alice" }, { expires: "2026-11-20T12:00:01Z" })], {}, true],
  ["one that expires now", [lock({ user: "alice" }, { expires: "2026-11-20T12:00:00Z" })], {}, false],
  ["one that expired, in another zone", [lock({ user: "alice" }, { expires: "2026-11-20T13:59:59+02:00" })], {}, false],
  ["a removed user", [removal(userId)], {}, true],
  ["a removed user who had the same name before", [removal("b".repeat(32))], {}, false],
  ["a removed user, for a certificate without a user id", [removal("b".repeat(32))], { userId: undefined }, true],
  ["a removed user of another name", [removal(userId, "bob")], {}, false],
  ["a name that only resembles that of a removal", [{ ...lock({ user: "alice" }), metadata: { name: "removed-user-bob" } }], {}, true],
  ["a role, under the name of a removal's lock", [{ ...removal("b".repeat(32)), spec: { target: { role: "ops" } } }], {}, true],
])("a lock of %s", ([, locks, more, found]) => {
  expect(findLock(locks, { ...facts, ...more }) !== undefined).toBe(found);
});

test("the error names what is locked, until when, by which lock and why", () => {
  const error = lockedError(lock({ role: "ops" }, { message: "audit week", expires: "2026-11-27T00:00:00Z" }));
  expect(error).toMatchObject({ code: "denied", hint: "an admin can remove it with: tctl rm lock/l-1" });
  expect(error.message).toBe("access denied: role ops is locked until 2026-11-27T00:00:00Z by lock l-1: audit week");
});

test("the error names the removal, and what a new user of the same name must do", () => {
  const error = lockedError({ ...removal(userId), spec: { target: { user: "alice" }, message: "user alice was removed" } });
  expect(error).toMatchObject({ code: "denied", hint: expect.stringContaining("tsh login") });
  expect(error.message).toBe(`access denied: user alice was removed (lock removed-user-${userId})`);
});
