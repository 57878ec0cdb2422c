import { expect, test } from "vitest";
import type { HostStatus } from "../../core/resources/host-status.ts";
import type { Instance } from "../../core/resources/instance.ts";
import { inventoryStatusText, inventoryTable, parseService } from "./inventory.ts";
import { summarizeInventory } from "./summarize-inventory.ts";

const since = "2026-11-20T10:00:00.000Z";
const windows = "2026-12-01T00:00:00.000Z";
const host = (hostname: string, status: Partial<HostStatus> | undefined, more: Partial<Instance> = {}): Instance => ({
  server_id: `id-${hostname}`,
  hostname,
  services: ["node"],
  version: "1.1.0",
  upgrader: status?.upgrader ?? (status === undefined ? "unknown" : "unit"),
  connected: true,
  since,
  wanted: "1.1.0",
  ...(status && { status: { upgrader: "unit", sessions: 0, schedule_until: windows, ...status } }),
  ...more,
});
const auth: Instance = { server_id: "id-auth", hostname: "auth1", services: ["auth"], version: "1.1.0", upgrader: "none", connected: true };

test("the inventory looks as documented", () => {
  const gone = host("web2", undefined, { connected: false });
  expect(inventoryTable([auth, host("web1", {}), gone])).toBe(
    `Server ID Hostname Services Version Upgrader
--------- -------- -------- ------- --------
id-auth   auth1    auth     1.1.0   none
id-web1   web1     node     1.1.0   unit
id-web2   web2     node     1.1.0   unknown`,
  );
});

test.for(["node", "App", "Proxy", "auth"])("--services=%s is one", (name) => {
  expect(parseService(name)).toBe(name.toLowerCase());
});

test.for([
  ["desktop", /^services are node, app, db, kube, proxy, auth$/],
  ["ssh", /^services are node, app, db, kube, proxy, auth$/],
  ["nodes", /^did you mean node\? services are/],
] as const)("--services=%s is refused with the list", ([name, hint]) => {
  expect(() => parseService(name)).toThrow(expect.objectContaining({ code: "invalid", hint: expect.stringMatching(hint) }));
});

test("each host stands where an admin looks for it, and auth and proxy services are counted only", () => {
  const none = { ...host("late", { reason: "no_schedule", schedule_error: "no configuration" }, { version: "1.0.0" }) };
  const summary = summarizeInventory([
    auth,
    host("fine", { reason: "up_to_date" }),
    host("behind", { reason: "outside_window" }, { version: "1.0.9" }),
    host("ahead", { reason: "outside_window" }, { version: "1.10.0" }),
    host("rolled", { reason: "rolled_back", detail: "no tunnel", at: since }, { version: "1.0.0" }),
    { ...none, status: { upgrader: "unit", sessions: 0, reason: "no_schedule", schedule_error: "no configuration" } },
    host("off", { reason: "timer_off" }),
    host("bare", { upgrader: "none" }),
    host("odd", {}, { version: "unknown" }),
    host("alien", {}, { version: "17.0.0", wanted: "17.0.0" }),
    host("gone", {}, { connected: false }),
    host("evil", {}, { refused_names: ['"web-1" is the name of a node: a node cannot have it'] }),
  ]);
  const names = Object.entries(summary).flatMap(([kind, hosts]) =>
    Array.isArray(hosts) ? [[kind, hosts.map(({ hostname }: { hostname: string }) => hostname)]] : [],
  );
  expect(Object.fromEntries(names)).toEqual({
    behind: ["behind", "rolled", "late"],
    ahead: ["ahead"],
    unfit: ["alien"],
    failed: ["rolled"],
    no_schedule: ["late"],
    timer_off: ["off"],
    not_enrolled: ["bare"],
    refused_names: ["evil"],
    partly_connected: [],
    gone: ["gone"],
  });
  expect(summary).toMatchObject({ total: 12, connected: 11, upgraders: { none: 2, unit: 9 } });
  expect(Object.entries(summary.versions)).toEqual([
    ["17.0.0", 1],
    ["1.10.0", 1],
    ["1.1.0", 5],
    ["1.0.9", 1],
    ["1.0.0", 2],
    ["unknown", 1],
  ]);
  expect(summary.failed[0]).toEqual({
    server_id: "id-rolled",
    hostname: "rolled",
    version: "1.0.0",
    wanted: "1.1.0",
    reason: "rolled_back",
    detail: "no tunnel",
    at: since,
  });
  expect(summary.no_schedule[0]?.detail).toBe("no configuration");
});

test("the text names what is wrong, cuts long lists, and says so when all is well", () => {
  const fine = inventoryStatusText(summarizeInventory([auth, host("web1", { reason: "up_to_date" })]));
  expect(fine).toContain("2 instances, 2 connected\n\nVersion Instances\n------- ---------\n1.1.0   2\n\nUpgrader Instances");
  expect(fine).toContain("Every host is connected, enrolled, and at the version of its channel.");
  const many = Array.from({ length: 25 }, (_, at) => host(`web${at}`, { reason: "no_space", detail: "3 MB are free" }, { version: "1.0.0" }));
  const text = inventoryStatusText(summarizeInventory(many));
  expect(text).toContain("Failed: 25\nHostname Server ID Version Reason   At Detail\n");
  expect(text).toContain("web0     id-web0   1.0.0   no_space    3 MB are free");
  expect(text).toContain("… and 5 more: --format=json has them all");
  expect(text).not.toContain("Every host");
});

test("a host that lacks a tunnel to some of the proxies is named with them", () => {
  const proxy = (name: string): Instance => ({ ...auth, server_id: `id-${name}`, hostname: name, services: ["proxy"] });
  const all = ["a", "b"].map(proxy);
  const both = host("web1", { reason: "up_to_date" }, { proxies: ["id-a", "id-b"] });
  expect(summarizeInventory([...all, both]).partly_connected).toEqual([]);
  const one = host("web2", { reason: "up_to_date" }, { proxies: ["id-b"] });
  const dialled = host("db1", { reason: "up_to_date" });
  const summary = summarizeInventory([...all, both, one, dialled]);
  expect(summary.partly_connected).toMatchObject([{ hostname: "web2", detail: "no tunnel to a" }]);
  expect(inventoryStatusText(summary)).toContain("Not connected to every proxy: 1");
});
