import { beforeEach, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { silentLog } from "../../../core/log/log.ts";
import type { AccountServer } from "./account-server.ts";
import { AdminFaults, withAdminFault } from "./admin-faults.ts";

const orders = { name: "orders", uri: "10.0.0.5:5432", adminUser: { name: "platform-admin" } };
const alice = { name: "alice", roles: ["readers"] };
const refused = (why: string): PlatformError => new PlatformError("unavailable", `the server refused ${why}`);

let reports: number;
let reported: PromiseWithResolvers<void>;
let faults: AdminFaults;
beforeEach(() => {
  reports = 0;
  reported = Promise.withResolvers();
  const onChange = (): void => {
    reports += 1;
    reported.resolve();
  };
  faults = new AdminFaults({ onChange, log: silentLog, collectMs: 1 });
});

function server(activate: AccountServer["activate"]): AccountServer {
  return { isOpen: true, activate, deactivate: async () => "disabled", sweep: async () => [], close: () => {} };
}

test("a login that the server refuses is a fault, until an account was made", async () => {
  const denied = refused("the login: certificate authentication failed (SQLSTATE 28000)");
  await expect(faults.watch(orders, () => Promise.reject(denied))).rejects.toBe(denied);
  expect(faults.of(orders)).toBe("admin_user platform-admin: the server refused the login: certificate authentication failed (SQLSTATE 28000)");
  await reported.promise;
  const opened = await faults.watch(orders, async () => server(async () => "ready"));
  expect(faults.of(orders)).toBeDefined();
  await opened.activate(alice);
  expect(faults.of(orders)).toBeUndefined();
});

test("a missing right is a fault in printable words; a denial is about the user's account; many changes are one report", async () => {
  const answers = [refused("the creation of the account: permission denied\u001b[2J (SQLSTATE 42501)"), new PlatformError("denied", "not ours")];
  const opened = await faults.watch(orders, async () => server(() => Promise.reject(answers.shift() ?? new Error("no more"))));
  await expect(opened.activate(alice)).rejects.toThrow(/permission denied/);
  await expect(opened.activate(alice)).rejects.toThrow(/not ours/);
  expect(faults.of(orders)).toBe("admin_user platform-admin: the server refused the creation of the account: permission denied [2J (SQLSTATE 42501)");
  await expect(opened.activate(alice)).rejects.toThrow(/no more/);
  await reported.promise;
  expect(reports).toBe(1);
});

test("a fault belongs to the settings with which it was found", async () => {
  await faults.watch(orders, () => Promise.reject(refused("the login"))).catch(() => {});
  expect(faults.of({ ...orders, adminUser: { name: "other" } })).toBeUndefined();
  expect(faults.of({ ...orders, uri: "10.0.0.6:5432" })).toBeUndefined();
});

test("a server that does not answer is the worse fault", () => {
  expect(withAdminFault({ health: "healthy" }, "refused")).toEqual({ health: "healthy", health_error: "refused" });
  expect(withAdminFault({ health: "unhealthy", health_error: "away" }, "refused")).toEqual({ health: "unhealthy", health_error: "away" });
  expect(withAdminFault({ health: "healthy" }, undefined)).toEqual({ health: "healthy" });
});
