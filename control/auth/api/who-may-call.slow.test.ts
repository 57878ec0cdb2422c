import { expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { addUser, joinHost, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

const hostId = "0b8a1e0e-8a35-4b06-9a9c-0a4f6a1f2a77";
const maintenance = {
  kind: "cluster_maintenance_config",
  metadata: { name: "cluster-maintenance-config" },
  spec: { agent_upgrades: { utc_start_hour: 2 } },
};
const calls = {
  reportChannels: (client) => client.reportChannels({ channelsJson: "{}", digest: `sha256:${"0".repeat(64)}` }),
  getUpgradeTarget: (client) => client.getUpgradeTarget({ channel: "default", hostId, version: "v1.1.0" }),
  getUpgradeTargets: (client) => client.getUpgradeTargets({ channel: "default", hostIds: [hostId], version: "v1.1.0" }),
  exportUpgradeWindows: (client) => client.exportUpgradeWindows({ upgrader: "unit" }),
  listInventory: (client) => client.listInventory({}),
  getUpgradePlan: (client) => client.getUpgradePlan({}),
  changeRollout: (client) => client.changeRollout({ action: "none of them" }),
  reportOffered: (client) => client.reportOffered({ hostId }),
  listOffered: (client) => client.listOffered({}),
  reportNode: (client) => client.reportNode({ hostId, hostname: "web1", connected: true }),
  "put a maintenance window": (client) => client.putResource({ json: JSON.stringify(maintenance), overwrite: true }),
  "remove a roll-out": (client) => client.deleteResource({ kind: "upgrade_rollout", name: "default" }),
} as const satisfies Record<string, (client: AuthClient) => Promise<unknown>>;
type Call = keyof typeof calls;

/** Everybody else is refused: default deny. */
const allowed: Readonly<Record<string, readonly Call[]>> = {
  stranger: [],
  agent: ["exportUpgradeWindows"],
  proxy: ["reportChannels", "getUpgradeTarget", "getUpgradeTargets", "exportUpgradeWindows", "reportOffered", "reportNode"],
  access: ["listOffered"],
  auditor: ["listOffered"],
  reader: ["getUpgradePlan", "listOffered"],
  editor: ["listInventory", "getUpgradePlan", "changeRollout", "listOffered", "put a maintenance window", "remove a roll-out"],
};

async function callers(t: TestAuth): Promise<Readonly<Record<string, AuthClient>>> {
  const rules = [{ resources: ["upgrade_rollout", "cluster_maintenance_config"], verbs: ["list", "read"] }];
  const reader = { kind: "role", version: "v7", metadata: { name: "reader" }, spec: { allow: { rules } } };
  await t.admin.putResource({ json: JSON.stringify(reader) });
  const user = async (role: string) => await loggedIn(t, await addUser(t, role, { roles: [role] }));
  return {
    stranger: t.connect(),
    agent: (await joinHost(t, "node1")).client,
    proxy: (await joinHost(t, "proxy1", { role: "proxy" })).client,
    access: await user("access"),
    auditor: await user("auditor"),
    reader: await user("reader"),
    editor: await user("editor"),
  };
}

/** "allowed": past the permission, whatever came of it then. */
async function outcome(call: Promise<unknown>): Promise<string> {
  const code = await call.then(
    () => "ok",
    (thrown: unknown) => (thrown instanceof Error && "code" in thrown ? String(thrown.code) : "?"),
  );
  return code === "denied" || code === "unauthenticated" ? "refused" : "allowed";
}

test("upgrades, windows and the inventory: who may call what", async () => {
  await using t = await openTestAuth();
  const found: Record<string, string[]> = {};
  for (const [name, client] of Object.entries(await callers(t))) {
    found[name] = [];
    // A report of a host that never joined is refused to a proxy too, by what it says.
    for (const [call, make] of Object.entries(calls)) {
      if ((call === "reportNode" || call === "reportOffered") && name === "proxy") {
        await expect(make(client)).rejects.toMatchObject({ message: expect.stringContaining("was removed") });
        found[name].push(call);
      } else if ((await outcome(make(client))) === "allowed") found[name].push(call);
    }
  }
  expect(found).toEqual(allowed);
});

test("warnings name hosts: only who may list these sees them", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const { hostId: id } = await t.connect().join({ token: secret, role: "node", hostname: "secret-host", ...publicKeys(generateKeys()) });
  const report = { hostId: id, hostname: "secret-host", version: "1" };
  await t.auth.localClient("proxy").reportNode({ ...report, connected: true });
  await t.auth.localClient("proxy").reportNode({ ...report, connected: false, ending: "silent" });
  await t.auth.look();
  const seen: string[] = [];
  for (const [name, client] of Object.entries(await callers(t))) {
    const { warnings } = await client.getCluster({});
    if (warnings.join().includes("secret-host")) seen.push(name);
  }
  expect(seen).toEqual(["proxy", "editor"]);
  expect(await t.events("access.denied")).toEqual([]);
});

test("a right is asked for alone: as the call that needs it would be decided, for each verb and kind", async () => {
  await using t = await openTestAuth();
  const { reader, proxy, stranger, editor } = await callers(t);
  const asked = { kind: "upgrade_rollout", verb: "read" };
  const answers = await Promise.all([reader, proxy, stranger, editor].map((client) => outcome(client?.checkPermission(asked) ?? Promise.resolve())));
  expect(answers).toEqual(["allowed", "refused", "refused", "allowed"]);
  await expect(reader?.checkPermission({ ...asked, verb: "update" })).rejects.toMatchObject({
    code: "denied",
    message: expect.stringContaining("update"),
  });
  await expect(reader?.checkPermission({ ...asked, kind: "role" })).rejects.toMatchObject({ code: "denied" });
  for (const wrong of [{ verb: "*" }, { verb: "" }, { kind: "colour" }])
    await expect(editor?.checkPermission({ ...asked, ...wrong })).rejects.toMatchObject({ code: "invalid" });
});
