import { expect, test } from "vitest";
import type { HostStatus } from "../../../core/resources/host-status.ts";
import { openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { type HostReport, type UpgradeMemory, upgradeEvent } from "./upgrade-event.ts";

type Said = [version: string, reason: HostStatus["reason"], target?: string, at?: string];
const report = ([version, reason, target, at]: Said): HostReport => ({
  version,
  status: { upgrader: "unit", sessions: 0, detail: "so", ...(reason && { reason }), ...(target && { target }), ...(at && { at }) },
});

/** Events of a host's life, each report sent `times` times: an agent repeats its report at every reconnection. */
function life(reports: readonly Said[], times = 3): string[] {
  let memory: UpgradeMemory | undefined;
  return reports.flatMap((said) =>
    Array.from({ length: times }).flatMap(() => {
      const next = upgradeEvent(memory, report(said));
      memory = next.memory;
      return next.event === undefined ? [] : [`${next.event.event} ${next.event.from ?? ""}>${next.event.to ?? ""} ${next.event.reason}`];
    }),
  );
}

test.for<[name: string, reports: Said[], events: string[]]>([
  ["a host that is met for the first time", [["1.0.0", "up_to_date", "1.0.0"]], []],
  [
    "an upgrade",
    [
      ["1.0.0", "up_to_date", "1.0.0"],
      ["1.0.0", "outside_window", "1.1.0"],
      ["1.1.0", "outside_window", "1.1.0"],
      ["1.1.0", "upgraded", "v1.1.0"],
      ["1.1.0", "up_to_date", "1.1.0"],
    ],
    ["upgrade.done 1.0.0>1.1.0 upgraded"],
  ],
  [
    "an upgrade whose end was not reported",
    [
      ["1.0.0", "up_to_date", "1.0.0"],
      ["1.1.0", "up_to_date", "1.1.0"],
    ],
    ["upgrade.done 1.0.0>1.1.0 up_to_date"],
  ],
  [
    "up, back and up again",
    [
      ["1.0.0", "up_to_date", "1.0.0"],
      ["1.1.0", "upgraded", "1.1.0"],
      ["1.0.0", "upgraded", "1.0.0"],
      ["1.1.0", "upgraded", "1.1.0"],
    ],
    ["upgrade.done 1.0.0>1.1.0 upgraded", "upgrade.done 1.1.0>1.0.0 upgraded", "upgrade.done 1.0.0>1.1.0 upgraded"],
  ],
  [
    "a roll-back, and the version skipped from then on",
    [
      ["1.0.0", "up_to_date", "1.0.0"],
      ["1.1.0", "up_to_date", "1.0.0"],
      ["1.0.0", "rolled_back", "1.1.0", "2026-11-20T10:00:00Z"],
      ["1.0.0", "known_bad", "1.1.0"],
    ],
    ["upgrade.rolled_back 1.1.0>1.0.0 rolled_back"],
  ],
  [
    "two roll-backs of one version",
    [
      ["1.0.0", "rolled_back", "1.1.0", "2026-11-20T10:00:00Z"],
      ["1.0.0", "rolled_back", "1.1.0", "2026-11-20T11:00:00Z"],
    ],
    ["upgrade.rolled_back 1.1.0>1.0.0 rolled_back", "upgrade.rolled_back 1.1.0>1.0.0 rolled_back"],
  ],
  [
    "a trouble at every tick, another one, and the end of it",
    [
      ["1.0.0", "no_space", "1.1.0"],
      ["1.0.0", "no_space", "1.1.0"],
      ["1.0.0", "signature_wrong", "1.1.0"],
      ["1.1.0", "upgraded", "1.1.0"],
      ["1.1.0", "no_space", "1.2.0"],
    ],
    [
      "upgrade.failed 1.0.0>1.1.0 no_space",
      "upgrade.failed 1.0.0>1.1.0 signature_wrong",
      "upgrade.done 1.0.0>1.1.0 upgraded",
      "upgrade.failed 1.1.0>1.2.0 no_space",
    ],
  ],
  [
    "held by the admin",
    [
      ["1.0.0", "held_by_admin", "1.1.0"],
      ["1.0.0", "held_by_admin", "1.2.0"],
    ],
    ["upgrade.skipped 1.0.0>1.1.0 held_by_admin", "upgrade.skipped 1.0.0>1.2.0 held_by_admin"],
  ],
  [
    "anything but an outcome of an upgrade",
    [
      ["1.0.0", "outside_window", "1.1.0"],
      ["1.0.0", "endpoint_unreachable"],
      ["1.0.0", "timer_off"],
      ["1.0.0", "held_by_rollout", "1.1.0"],
      ["1.0.0", "waiting_for_sessions", "1.1.0"],
      ["1.0.0", undefined],
    ],
    [],
  ],
])("%s", ([_name, reports, events]) => {
  expect(life(reports)).toEqual(events);
});

test("a host without an updater is not audited, and counts as a new one when it is enrolled", () => {
  const none = { version: "1.1.0", status: { upgrader: "none", sessions: 0 } } as const;
  expect(upgradeEvent({ version: "1.0.0" }, none)).toEqual({ memory: { version: "1.1.0" } });
});

async function host(t: TestAuth) {
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const { hostId } = await t.connect().join({ token: secret, role: "node", hostname: "web1", version: "1.0.0", ...publicKeys(generateKeys()) });
  const says = async (version: string, status: object): Promise<void> => {
    const statusJson = JSON.stringify({ upgrader: "unit", ...status });
    await t.auth.localClient("proxy").reportNode({ hostId, hostname: "web1", version, connected: true, statusJson });
  };
  return { hostId, says };
}

test("an upgrade is audited once: not at every report, not by two proxies at once, not after a restart of the auth service", async () => {
  await using t = await openTestAuth();
  const { hostId, says } = await host(t);
  await says("1.0.0", { reason: "up_to_date", target: "1.0.0" });
  const upgraded = { reason: "upgraded", target: "1.1.0", detail: "1.1.0 is healthy" };
  await Promise.all([says("1.1.0", upgraded), says("1.1.0", upgraded)]);
  await t.restart();
  await says("1.1.0", upgraded);
  await says("1.1.0", { reason: "no_space", target: "1.2.0", detail: "3 MB are free" });
  await t.restart();
  await says("1.1.0", { reason: "no_space", target: "1.2.0", detail: "3 MB are free" });
  expect(await t.events("upgrade.done", "upgrade.failed", "upgrade.skipped", "upgrade.rolled_back")).toMatchObject([
    { event: "upgrade.done", code: "TU001I", server_id: hostId, server_name: "web1", from: "1.0.0", to: "1.1.0" },
    { event: "upgrade.failed", code: "TU002W", reason: "no_space", from: "1.1.0", to: "1.2.0", error: "3 MB are free" },
  ]);
});

test("a node shows what its host says, and one whose status cannot be read counts all the same", async () => {
  await using t = await openTestAuth();
  const { hostId, says } = await host(t);
  const shown = async () => JSON.parse((await t.admin.getResource({ kind: "node", name: hostId })).json) as object;
  await says("1.0.0", { reason: "outside_window", target: "1.1.0", sessions: 3 });
  expect(await shown()).toMatchObject({ status: { connected: true, host: { upgrader: "unit", reason: "outside_window", sessions: 3 } } });
  await says("1.0.0", { reason: "a_reason_of_tomorrow", sessions: 4 });
  expect(await shown()).toMatchObject({ status: { host: { upgrader: "unit", sessions: 4 } } });
  await t.auth.localClient("proxy").reportNode({ hostId, hostname: "web1", version: "1.0.0", connected: true, statusJson: "{" });
  expect(await shown()).not.toHaveProperty("status.host");
  await says("1.0.0", { sessions: 5 });
  await t.auth.localClient("proxy").reportNode({ hostId, hostname: "web1", version: "1.0.0", connected: false, statusJson: "" });
  expect(await shown()).toMatchObject({ status: { connected: false, host: { sessions: 5 } } });
});

test("an upgrade by hand is audited at once, although the timer is off", () => {
  const off = (version: string, reason: "up_to_date" | "upgraded" | "rolled_back", target: string): HostReport => ({
    version,
    status: {
      upgrader: "unit",
      sessions: 0,
      reason: "timer_off",
      detail: "disabled",
      outcome: { reason, detail: "by hand" },
      target,
      at: "2026-11-20T10:00:00Z",
    },
  });
  const first = upgradeEvent(undefined, off("1.0.0", "up_to_date", "1.0.0"));
  expect(first.event).toBeUndefined();
  const done = upgradeEvent(first.memory, off("1.1.0", "upgraded", "1.1.0"));
  expect(done.event).toEqual({ event: "upgrade.done", reason: "upgraded", from: "1.0.0", to: "1.1.0" });
  const back = upgradeEvent(done.memory, off("1.1.0", "rolled_back", "1.2.0"));
  expect(back.event).toMatchObject({ event: "upgrade.rolled_back", from: "1.2.0", to: "1.1.0", error: "by hand" });
  expect(upgradeEvent(back.memory, off("1.1.0", "rolled_back", "1.2.0")).event).toBeUndefined();
});
