import { randomUUID } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Node } from "../../../core/resources/node.ts";
import type { RotationPhase } from "../../../core/resources/rotation.ts";
import { openTestAuth } from "../../../test/inside/open-auth.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { hostWrite } from "../inventory/host-records.ts";
import { hostsBehind, signerWrite } from "./rotate.ts";

const since = "2026-11-21T00:00:00.000Z";
const key = (name: string) => ({ ca_pin: `sha256:${name}`, ssh_fingerprint: name, since });
const in2Weeks = new Date(Date.now() + 14 * 86_400_000);

function nodeNamed(hostname: string): Node {
  return { kind: "node", version: "v2", metadata: { name: randomUUID(), labels: {} }, spec: { hostname, services: ["ssh"], version: "1.2.3" } };
}

test("behind is who has no certificate of the key that signs, also whose signer nobody wrote down; in standby nobody is", async () => {
  await using dir = await mkdtempDisposable(join(tmpdir(), "platform-behind-"));
  const storage = openSqlite({ path: join(dir.path, "state.sqlite") });
  try {
    const hosts = { renewed: nodeNamed("renewed"), old: nodeNamed("old"), unknown: nodeNamed("unknown") };
    for (const host of Object.values(hosts)) await storage.put(hostWrite("node", host));
    const proxy = nodeNamed("proxy-1");
    await storage.put(hostWrite("proxy", proxy));
    for (const [host, pin] of [
      [hosts.renewed, "sha256:new"],
      [hosts.old, "sha256:old"],
    ] as const) {
      await storage.put(signerWrite("node", host.metadata.name, { pin, validBefore: in2Weeks }));
    }
    await storage.put(signerWrite("proxy", proxy.metadata.name, { pin: "sha256:new", validBefore: in2Weeks }));
    // A host that was removed is not waited for.
    await storage.put(signerWrite("node", randomUUID(), { pin: "sha256:old", validBefore: in2Weeks }));
    const names = async (phase: RotationPhase, signs: string) => {
      const keys = [key(signs), key(signs === "new" ? "old" : "new")];
      return (await hostsBehind(storage, { phase, keys })).map(({ role, name }) => `${role} ${name}`).sort();
    };
    expect(await names("update_servers", "new")).toEqual(["node old", "node unknown"]);
    expect(await names("rollback", "old")).toEqual(["node renewed", "node unknown", "proxy proxy-1"]);
    expect(await names("standby", "new")).toEqual([]);
  } finally {
    await storage.close();
  }
});

test("the first tctl, which knows the authorities of its release alone, gets these in a list of their own", async () => {
  await using t = await openTestAuth();
  const authorities = (list: readonly string[]): unknown[] => list.map((json) => (JSON.parse(json) as { authority: unknown }).authority);
  const all = await t.admin.getRotations({});
  expect(authorities(all.rotationsJson)).toEqual(["user", "host"]);
  expect(authorities(all.serviceRotationsJson)).toEqual(["db", "db_client", "jwt"]);
  const one = await t.admin.rotateAuthority({ authority: "db", phase: "init", graceSeconds: 0, manual: true });
  expect([one.rotationsJson, authorities(one.serviceRotationsJson)]).toEqual([[], ["db"]]);
});
