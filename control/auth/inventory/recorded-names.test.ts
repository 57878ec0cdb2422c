import { expect, test } from "vitest";
import { type JoinedHost, joinHost, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { until } from "../../../test/world/until.ts";

type Told = { readonly id: string; readonly hostname: string; readonly labels: object; readonly since?: string };

/** The recorded hosts in the answer for a proxy that requests the target. */
async function recorded(proxy: JoinedHost, target: string): Promise<readonly Told[]> {
  const { recordedJson } = await proxy.client.findDirectHosts({ target });
  return recordedJson.map((json) => JSON.parse(json) as Told);
}
const ids = async (proxy: JoinedHost, target: string): Promise<readonly string[]> => (await recorded(proxy, target)).map(({ id }) => id).sort();
const both = (...hosts: readonly JoinedHost[]): readonly string[] => hosts.map(({ id }) => id).sort();

async function report(proxy: JoinedHost, { id }: JoinedHost, hostname: string, connected: boolean): Promise<boolean> {
  const facts = { hostId: id, hostname, labels: { env: "prod" }, services: ["ssh"], version: "1.0.0", connected, names: [hostname] };
  return (await proxy.client.reportNode(facts)).sharesName;
}

const sharedWarnings = async (t: TestAuth): Promise<readonly string[]> =>
  (await t.admin.getCluster({})).warnings.filter((text) => text.includes("is the name of"));

test("a host that is away keeps its name in every form, over a restart, until its record is removed", async () => {
  await using t = await openTestAuth();
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  const old = await joinHost(t, "web-1", { names: ["www.example.com"] });
  await report(proxy, old, "web-1", true);
  // One host of that name, and it is connected: there is nothing to tell.
  expect(await recorded(proxy, "web-1")).toEqual([]);
  await report(proxy, old, "web-1", false);
  const since = t.now().toISOString();
  const young = await joinHost(t, "WEB-1");
  expect(await report(proxy, young, "WEB-1", true)).toBe(true);
  expect(await report(proxy, old, "web-1", false)).toBe(true);
  for (const target of ["web-1", "WEB-1", "web-1.", "web-1.test", "Web-1.TEST."]) expect(await ids(proxy, target), target).toEqual(both(old, young));
  const [first, second] = await recorded(proxy, "web-1");
  expect(first).toEqual({ id: old.id, hostname: "web-1", labels: { env: "prod" }, since });
  expect(second).toEqual({ id: young.id, hostname: "WEB-1", labels: { env: "prod" } });
  expect(await ids(proxy, "www.example.com")).toEqual([old.id]);
  // An id means its host alone.
  expect(await ids(proxy, young.id)).toEqual([]);
  for (const target of ["web", "web-2", "", "%", `${"x".repeat(1000)}`]) expect(await ids(proxy, target), target).toEqual([]);
  expect(await sharedWarnings(t)).toEqual([
    expect.stringMatching(
      new RegExp(
        `^web-1 is the name of 2 hosts.*${old.id} \\(not connected since ${since}\\), ${young.id} \\(connected\\).*tctl nodes rm ${old.id}$`,
      ),
    ),
  ]);

  await t.restart();
  expect(await ids(proxy, "web-1")).toEqual(both(old, young));
  await report(proxy, young, "WEB-1", true);
  await t.admin.deleteResource({ kind: "node", name: old.id });
  await until("the name is free", async () => (await ids(proxy, "web-1")).length === 0);
  expect(await report(proxy, young, "WEB-1", true)).toBe(false);
  expect(await ids(proxy, "www.example.com")).toEqual([]);
  expect(await sharedWarnings(t)).toEqual([]);
});

test("a host that has another name now leaves the old one, and has the new one at once", async () => {
  await using t = await openTestAuth();
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  const host = await joinHost(t, "web-1");
  expect(await ids(proxy, "web-1")).toEqual([host.id]);
  await host.client.renewHost({ hostname: "web-2", names: ["www.example.com"], ...publicKeys(generateKeys()) });
  await report(proxy, host, "web-2", true);
  await report(proxy, host, "web-2", false);
  await until("the old name is free", async () => (await ids(proxy, "web-1")).length === 0);
  for (const target of ["web-2", "www.example.com"]) expect(await ids(proxy, target)).toEqual([host.id]);
});

test("connected hosts, and hosts that are all disconnected, cause no warning", async () => {
  await using t = await openTestAuth();
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  const [a, b] = [await joinHost(t, "web-1"), await joinHost(t, "web-1")];
  for (const host of [a, b]) await report(proxy, host, "web-1", true);
  expect(await sharedWarnings(t)).toEqual([]);
  await report(proxy, a, "web-1", false);
  expect(await sharedWarnings(t)).toHaveLength(1);
  await report(proxy, b, "web-1", false);
  expect(await sharedWarnings(t)).toEqual([]);
});
