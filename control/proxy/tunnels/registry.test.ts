import { beforeEach, describe, expect, test } from "vitest";
import { type Registered, TunnelRegistry } from "./registry.ts";
import { type FakeHost, fakeTunnel } from "./testing/fake-tunnel.ts";

const idA = "11111111-1111-4111-8111-111111111111";
const idB = "22222222-2222-4222-8222-222222222222";

interface Labelled extends Registered {
  readonly label: string;
}

function tunnel(
  id: string,
  hostname: string,
  { label = "", ...change }: Omit<FakeHost, "id" | "hostname"> & { readonly label?: string } = {},
): Labelled {
  return Object.assign(fakeTunnel({ id, hostname, ...change }), { label });
}

describe("TunnelRegistry", () => {
  let registry: TunnelRegistry<Labelled>;
  beforeEach(() => {
    registry = new TunnelRegistry();
  });
  const labels = (target: string): string[] => registry.find(target, "main").map((found) => found.label);

  test.for([idA, idA.toUpperCase(), `${idA}.main`, "web-1", "WEB-1", "web-1.main", "www.example.com"])("finds a host by %s", (target) => {
    registry.add(tunnel(idA, "web-1", { label: "a", names: ["www.example.com"] }));
    expect(labels(target)).toEqual(["a"]);
  });

  test.for(["web", "web-1.other", ".main", "", "web-1.main.main", "__proto__"])("finds nothing by %j", (target) => {
    registry.add(tunnel(idA, "web-1"));
    expect(labels(target)).toEqual([]);
  });

  test("who waits for a host has its tunnel as soon as it comes, and nothing when none comes in time", async () => {
    const waited = registry.arrival(idA, 5_000);
    const inVain = registry.arrival(idB, 10);
    registry.add(tunnel(idA, "web-1", { label: "a" }));
    expect((await waited)?.label).toBe("a");
    expect((await registry.arrival(idA, 0))?.label).toBe("a");
    expect(await inVain).toBeUndefined();
  });

  test("uses the newest tunnel of a host and goes back to an older one when it ends", () => {
    const older = tunnel(idA, "web-1", { label: "older" });
    const newer = tunnel(idA, "web-1", { label: "newer" });
    registry.add(older);
    registry.add(newer);
    expect(labels("web-1")).toEqual(["newer"]);
    expect(registry.size).toBe(2);
    expect(registry.remove(newer)).toBe(false);
    expect(labels("web-1")).toEqual(["older"]);
    expect(registry.remove(older)).toBe(true);
    expect(labels("web-1")).toEqual([]);
    expect(registry.size).toBe(0);
  });

  test("skips a tunnel that drains", () => {
    registry.add(tunnel(idA, "web-1", { label: "serving" }));
    registry.add(tunnel(idA, "web-1", { label: "draining", draining: true }));
    expect(labels(idA)).toEqual(["serving"]);
  });

  test("a resource is found at the older tunnel of a host until the newer one offers it, or the older one drains", () => {
    const orders = { kind: "db", name: "orders", labels: {} };
    const [older, newer] = [tunnel(idA, "db-1", { label: "older" }), tunnel(idA, "db-1", { label: "newer" })];
    const found = (): string[] => registry.offering("db", "orders").map((one) => one.tunnel.label);
    for (const one of [older, newer]) registry.add(one);
    registry.offer(older, [orders]);
    expect(found()).toEqual(["older"]);
    registry.offer(newer, [orders]);
    expect(found()).toEqual(["newer"]);
    registry.offer(newer, []);
    expect(found()).toEqual(["older"]);
    older.draining = true;
    expect(found()).toEqual([]);
  });

  test("who waits for a resource gets it as soon as an agent offers it, and nothing when none does in time", async () => {
    const orders = { kind: "db", name: "orders", labels: {} };
    const only = tunnel(idA, "db-1", { label: "a" });
    const [waited, inVain] = [registry.offeredSoon("db", "orders", 5_000), registry.offeredSoon("db", "shop", 10)];
    registry.add(only);
    registry.offer(only, [orders]);
    expect((await waited).map((one) => one.tunnel.label)).toEqual(["a"]);
    expect(await inVain).toEqual([]);
  });

  test("finds every host of an ambiguous name, and one by its id", () => {
    registry.add(tunnel(idA, "web", { label: "a" }));
    registry.add(tunnel(idB, "web", { label: "b" }));
    expect(labels("web").sort()).toEqual(["a", "b"]);
    expect(labels(idB)).toEqual(["b"]);
  });

  test("a host that is called like another one with the cluster behind it makes the target ambiguous", () => {
    registry.add(tunnel(idA, "web-1", { label: "good" }));
    registry.add(tunnel(idB, "web-1.main", { label: "evil" }));
    for (const target of ["web-1.main", "WEB-1.Main", "web-1.main."]) expect(labels(target).sort()).toEqual(["evil", "good"]);
    expect(labels("web-1")).toEqual(["good"]);
  });

  test("forgets a name that the host no longer has", () => {
    const before = tunnel(idA, "old-name", { label: "before" });
    const after = tunnel(idA, "new-name", { label: "after" });
    registry.add(before);
    registry.add(after);
    registry.remove(before);
    expect(labels("old-name")).toEqual([]);
    expect(labels("new-name")).toEqual(["after"]);
  });

  test("a host cannot take over another's id by calling itself so", () => {
    registry.add(tunnel(idA, "web", { label: "true" }));
    registry.add(tunnel(idB, idA, { label: "false" }));
    expect(labels(idA)).toEqual(["true"]);
  });

  test("ends tunnels that were silent for 45 s and only those", () => {
    registry.add(tunnel(idA, "a", { label: "dead", silentFor: () => 45_000 }));
    registry.add(tunnel(idB, "b", { label: "alive", silentFor: () => 44_999 }));
    expect(registry.sweep(0).map((dead) => dead.label)).toEqual(["dead"]);
    expect(labels("b")).toEqual(["alive"]);
    expect(labels("a")).toEqual([]);
  });
});
