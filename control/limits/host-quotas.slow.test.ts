import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { makeAuditEvent } from "../../core/audit/audit-event.ts";
import { joinHost, openTestAuth, type TestAuth } from "../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../test/inside/user-keys.ts";
import { createHostQuotas } from "./host-quotas.ts";

const event = (t: TestAuth, host: string, error = "x".repeat(15_000)): string =>
  JSON.stringify(makeAuditEvent({ event: "auth", server_id: host, error }, { clusterName: "test", now: t.now(), uid: randomUUID() }));

test("with little room on the disk, a host has a burst of events stored and then little, others are not concerned", () => {
  let time = 0;
  const quotas = createHostQuotas(
    () => new Date(time),
    () => 0,
  );
  const host = (id: string, role: "node" | "proxy" | "auth" = "node") => ({
    kind: "host" as const,
    id,
    role,
    cluster: "c",
    names: [],
    validBefore: new Date(0),
  });
  const batch = Array.from({ length: 55 }, () => "x".repeat(16_000));
  const taken = (who: ReturnType<typeof host>): number => {
    for (let calls = 0; calls < 2_000; calls += 1) {
      try {
        quotas.events(who, batch);
      } catch (error) {
        expect(error).toMatchObject({ code: "limit" });
        return calls * 55 * 16_000;
      }
    }
    return Number.POSITIVE_INFINITY;
  };
  // More than the 64 MiB that an agent keeps while this service is away.
  const burst = taken(host("evil"));
  expect(burst).toBeGreaterThan(64 * 1024 * 1024);
  expect(burst).toBeLessThanOrEqual(96 * 1024 * 1024);
  expect(taken(host("evil"))).toBe(0);
  expect(taken(host("good"))).toBe(burst);
  time += 60_000;
  expect(taken(host("evil"))).toBeLessThanOrEqual(60 * 64 * 1024);
  expect(taken(host("evil"))).toBe(0);
  expect(taken(host("p1", "proxy"))).toBeGreaterThan(burst * 9);
  expect(taken(host("a1", "auth"))).toBe(Number.POSITIVE_INFINITY);
});

test("on a disk that is nearly full, hosts wait, refusals go to the log, and what an admin does is stored", async () => {
  const disk = { free: 100e9, total: 200e9 };
  await using t = await openTestAuth({ diskFacts: () => disk });
  const host = await joinHost(t, "web-1");
  disk.free = 400 * 1024 * 1024;
  await expect(host.client.emitEvents({ eventsJson: [event(t, host.id)] })).rejects.toMatchObject({
    code: "limit",
    message: expect.stringContaining("nearly full"),
  });
  await expect(host.client.reportSessions({ process: randomUUID(), sessionsJson: [] })).rejects.toMatchObject({ code: "limit" });
  await expect(t.connect().login({ user: "nobody", password: "x", code: "000000", ...publicKeys(generateKeys()) })).rejects.toMatchObject({
    code: "unauthenticated",
  });
  expect(await t.events("user.login")).toEqual([]);
  expect(t.logLines.join("")).toMatch(/refusal not recorded in the audit log: the disk is nearly full[^\n]*user\.login/);
  const { warnings } = await t.admin.getCluster({});
  expect(warnings).toContainEqual(expect.stringMatching(/has 400 MiB left: events and recordings of hosts are refused until there are 512/));
  await t.admin.deleteResource({ kind: "node", name: host.id });
  expect(await t.events("node.deleted")).toHaveLength(1);
  disk.free = 100e9;
  expect((await t.admin.getCluster({})).warnings).toEqual([]);
});

test("a host renews a few times in a row, and then once a minute", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web-1");
  const renew = () => host.client.renewHost({ hostname: "web-1", names: [], ...publicKeys(generateKeys()) });
  for (let count = 0; count < 30; count += 1) await renew();
  await expect(renew()).rejects.toMatchObject({ code: "limit" });
  t.forward(61_000);
  await renew();
});

test("labels of a host are bounded, when it joins and later", async () => {
  await using t = await openTestAuth();
  const host = await joinHost(t, "web-1");
  const labels = Object.fromEntries(Array.from({ length: 400 }, (_one, index) => [`label-${index}`, "x".repeat(200)]));
  const report = { hostId: host.id, hostname: "web-1", services: ["ssh"], version: "1.0.0", connected: true, labels };
  await expect(t.auth.localClient("proxy").reportNode(report)).rejects.toMatchObject({ code: "limit", message: expect.stringContaining("65536") });
});
