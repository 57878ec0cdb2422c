import { expect, test } from "vitest";
import { locksTable, newLock } from "./locks.ts";

const now = new Date("2026-11-20T12:00:00Z");
const host = "7e55a0a1-3a70-4cf0-8f0e-0f3b1f2d9a11";
const make = (options: Record<string, string>) => newLock({ text: (name) => options[name], now, name: "l-1" });

test.for<readonly [options: Record<string, string>, spec: object]>([
  [{ user: "alice" }, { target: { user: "alice" } }],
  [
    { role: "ops", message: "out" },
    { target: { role: "ops" }, message: "out" },
  ],
  [
    { login: "root", ttl: "1h" },
    { target: { login: "root" }, expires: "2026-11-20T13:00:00.000Z" },
  ],
  [
    { serverId: host, expires: "2027-01-01T00:00:00Z" },
    { target: { server_id: host }, expires: "2027-01-01T00:00:00Z" },
  ],
])("%j make a lock", ([options, spec]) => {
  expect(make(options).spec).toEqual(spec);
});

test.for<readonly [options: Record<string, string>, reason: RegExp]>([
  [{}, /names exactly one of user, role, login and server_id/],
  [{ user: "alice", role: "ops" }, /names exactly one/],
  [{ serverId: "web-1" }, /--server-id is the id of a host/],
  [{ user: "a b" }, /--user a name has/],
  [{ user: "alice", ttl: "1h", expires: "2027-01-01T00:00:00Z" }, /use either --ttl or --expires/],
  [{ user: "alice", ttl: "soon" }, /not a duration/],
  [{ user: "alice", expires: "soon" }, /--expires/],
])("%j make none", ([options, reason]) => {
  expect(() => make(options)).toThrow(reason);
});

test("the table shows what a lock shuts out, why, and until when", () => {
  const table = locksTable([make({ user: "alice", message: "laptop stolen" }), make({ role: "ops", ttl: "1h" })]);
  expect(table).toMatch(/l-1 +user alice +laptop stolen +never/);
  expect(table).toMatch(/l-1 +role ops +2026-11-20T13:00:00.000Z/);
});
