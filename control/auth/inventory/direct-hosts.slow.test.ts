import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type JoinedHost, joinHost, openTestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { checkAddresses, findDirectHosts, keepDirectHost } from "./direct-hosts.ts";

const report = (id: string, hostname: string) => ({ hostId: id, hostname, services: ["ssh"], version: "1.0.0", connected: true });

async function found({ client }: JoinedHost, target: string): Promise<readonly string[]> {
  const { hostsJson } = await client.findDirectHosts({ target });
  return hostsJson.map((json) => (JSON.parse(json) as { hostname: string }).hostname).sort();
}

test("an agent that listens is found by its id and by every name of its certificate, also after a restart, until it is removed", async () => {
  await using t = await openTestAuth();
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  const web1 = await joinHost(t, "web-1", { names: ["web.example.com"] });
  await web1.client.reportNode({
    ...report(web1.id, "WEB-1"),
    directAddresses: ["10.0.0.5:3022", "web.example.com:3022"],
    publicAddresses: ["web.example.com:3022"],
  });
  const names = ["web-1", "WEB-1", "web-1.test", "web.example.com", web1.id, `${web1.id}.test`];
  for (const name of names) expect(await found(proxy, name), name).toEqual(["web-1"]);
  for (const name of ["web", "web-1.test.test", "10.0.0.5", "", "web-1/", "%"]) expect(await found(proxy, name), name).toEqual([]);
  const { json } = await t.admin.getResource({ kind: "node", name: web1.id });
  expect(JSON.parse(json)).toMatchObject({ status: { connected: true, addr: "10.0.0.5:3022" } });
  await t.restart();
  expect(await found(proxy, "web-1")).toEqual(["web-1"]);
  await t.admin.deleteResource({ kind: "node", name: web1.id });
  for (const name of names) expect(await found(proxy, name), name).toEqual([]);
});

test("other names and addresses replace those before, and a tunnel all of them", async () => {
  await using t = await openTestAuth();
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  const web1 = await joinHost(t, "web-1", { names: ["a.example.com"] });
  await web1.client.reportNode({ ...report(web1.id, "web-1"), directAddresses: ["10.0.0.5:3022"] });
  const keys = generateKeys();
  const renewed = await web1.client.renewHost({ hostname: "web-1", names: ["b.example.com"], ...publicKeys(keys) });
  const later = t.connect({ certificate: renewed.tlsCertificate, privateKey: keys.tlsPrivateKey });
  await later.reportNode({ ...report(web1.id, "web-1"), directAddresses: ["10.0.0.6:3022"] });
  expect(await found(proxy, "a.example.com")).toEqual([]);
  const { hostsJson } = await proxy.client.findDirectHosts({ target: "b.example.com" });
  expect(hostsJson.map((json) => JSON.parse(json) as unknown)).toMatchObject([{ addresses: ["10.0.0.6:3022"] }]);
  // A proxy names no address to dial.
  await proxy.client.reportNode({ ...report(web1.id, "web-1"), address: "10.0.0.9:50000", directAddresses: ["10.6.6.6:3022"] });
  expect(await found(proxy, "web-1")).toEqual([]);
});

test("a host that is called like another one with the cluster behind it makes that name ambiguous: both are found", async () => {
  const folder = mkdtempSync(join(tmpdir(), "platform-direct-"));
  const storage = openSqlite({ path: join(folder, "auth", "state.sqlite") });
  for (const hostname of ["web-1", "web-1.test"]) {
    await keepDirectHost(storage, { id: randomUUID(), hostname, names: [hostname], labels: {}, addresses: ["10.0.0.5:3022"], shared: [] });
  }
  const names = async (target: string) => (await findDirectHosts(storage, target, "test")).map(({ hostname }) => hostname).sort();
  for (const target of ["web-1.test", "WEB-1.test.", "web-1.TEST"]) expect(await names(target)).toEqual(["web-1", "web-1.test"]);
  expect(await names("web-1")).toEqual(["web-1"]);
  await storage.close();
  rmSync(folder, { recursive: true });
});

test("an agent speaks for itself alone", async () => {
  await using t = await openTestAuth();
  const proxy = await joinHost(t, "p1", { role: "proxy" });
  const [web1, web2] = [await joinHost(t, "web-1"), await joinHost(t, "web-2")];
  const told = { directAddresses: ["10.0.0.5:3022"] };
  await expect(web2.client.reportNode({ ...report(web1.id, "web-1"), ...told })).rejects.toMatchObject({ code: "denied" });
  await expect(web2.client.reportNode({ ...report(web2.id, "web-2") })).rejects.toMatchObject({ code: "invalid" });
  const shared = { directAddresses: ["web-1:3022"], publicAddresses: ["web-1:3022"] };
  await expect(web2.client.reportNode({ ...report(web2.id, "web-2"), ...shared })).rejects.toMatchObject({ code: "denied" });
  // It goes by the name of its certificate, whatever it calls itself.
  await web2.client.reportNode({ ...report(web2.id, "web-1"), ...told });
  expect(await found(proxy, "web-1")).toEqual([]);
  expect(await found(proxy, "web-2")).toEqual(["web-2"]);
  await expect(web2.client.findDirectHosts({ target: "web-2" })).rejects.toMatchObject({ code: "denied" });
});

test("an agent is connected while it watches, and its watch names no removed host", async () => {
  await using t = await openTestAuth();
  const [web1, gone] = [await joinHost(t, "web-1"), await joinHost(t, "gone")];
  const stop = new AbortController();
  const watch = web1.client.watchAccess({ version: "1.0.0" }, { signal: stop.signal, timeoutMs: 0 })[Symbol.asyncIterator]();
  expect((await watch.next()).value).toMatchObject({ removedHosts: [] });
  await web1.client.reportNode({ ...report(web1.id, "web-1"), directAddresses: ["10.0.0.5:3022"] });
  const next = watch.next();
  await t.admin.deleteResource({ kind: "node", name: gone.id });
  expect((await next).value).toMatchObject({ removedHosts: [] });
  const last = watch.next();
  await t.admin.deleteResource({ kind: "node", name: web1.id });
  await expect(last).rejects.toMatchObject({ code: "denied" });
  stop.abort();
});

describe("addresses", () => {
  const own = { names: ["web-1", "Web.Example.com", "192.0.2.1"] };
  const cases = [
    {
      what: "the same in one form",
      ask: { addresses: ["WEB.example.com:22", "web.example.com:22"], shared: [] },
      is: { addresses: ["web.example.com:22"], shared: [] },
    },
    {
      what: "shared under an own name",
      ask: { addresses: ["web.example.com:22"], shared: ["web.example.com:22"] },
      is: { shared: ["web.example.com:22"] },
    },
    { what: "an IPv6 address", ask: { addresses: ["[2001:db8::1]:22"], shared: [] }, is: { addresses: ["[2001:db8::1]:22"] } },
    { what: "none", ask: { addresses: [], shared: [] }, says: /1 to 8 addresses/ },
    { what: "too many", ask: { addresses: Array.from({ length: 9 }, (_, n) => `a:${n + 1}`), shared: [] }, says: /1 to 8 addresses/ },
    { what: "port 0", ask: { addresses: ["a:0"], shared: [] }, says: /not 0/ },
    { what: "no port", ask: { addresses: ["a"], shared: [] }, says: /no port/ },
    { what: "a URL", ask: { addresses: ["http://a:1"], shared: [] }, says: /scheme/ },
    { what: "shared and not its own", ask: { addresses: ["other:22"], shared: ["other:22"] }, says: /not a name in this host's certificate/ },
    { what: "shared and not announced", ask: { addresses: ["a:22"], shared: ["web-1:22"] }, says: /not one of the addresses/ },
  ];
  test.each(cases)("$what", ({ ask, is, says }) => {
    if (says !== undefined) expect(() => checkAddresses(ask, own)).toThrow(says);
    else expect(checkAddresses(ask, own)).toMatchObject(is ?? {});
  });
});
