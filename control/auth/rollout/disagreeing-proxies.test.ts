import { expect, test } from "vitest";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

const rollout = {
  kind: "upgrade_rollout",
  version: "v1",
  metadata: { name: "default" },
  spec: { groups: [{ name: "all", labels: { "*": "*" }, canaries: 1 }] },
};

/** A proxy on a host of its own. */
async function proxy(t: TestAuth, hostname: string): Promise<AuthClient> {
  const { secret } = await t.admin.createToken({ roles: ["proxy"] });
  const keys = generateKeys();
  const { tlsCertificate } = await t.connect().join({ token: secret, role: "proxy", hostname, names: [hostname], ...publicKeys(keys) });
  return t.connect({ certificate: tlsCertificate, privateKey: keys.tlsPrivateKey });
}

const answers = (client: AuthClient, version: string) =>
  client.reportChannels({
    channelsJson: JSON.stringify({ default: { version, critical: false, source: "own" } }),
    digest: `sha256:${"0".repeat(64)}`,
  });

test("proxies of two versions, each serving its own, begin no roll-out in turns: nobody is taken back, and hosts are held until they agree", async () => {
  await using t = await openTestAuth();
  const [one, two] = [await proxy(t, "proxy1"), await proxy(t, "proxy2")];
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const { hostId } = await t.connect().join({ token: secret, role: "node", hostname: "web1", ...publicKeys(generateKeys()) });
  const report = (version: string) =>
    one.reportNode({ hostId, hostname: "web1", version, connected: true, statusJson: JSON.stringify({ upgrader: "unit" }) });
  const ask = async (client: AuthClient, version: string) => {
    const { version: told, held } = await client.getUpgradeTarget({ channel: "default", hostId, version });
    return held === "" ? told : held;
  };
  const begun = async () => (await t.events("rollout.started")).map(({ version }) => version);
  await report("1.0.0");
  await answers(one, "v1.0.0");
  await answers(two, "v1.0.0");
  await t.admin.putResource({ json: JSON.stringify(rollout) });
  expect(await begun()).toEqual(["1.0.0"]);
  for (let round = 0; round < 3; round += 1) {
    await answers(one, "v1.1.0");
    await t.auth.look();
    await answers(two, "v1.0.0");
    await t.auth.look();
  }
  expect(await begun()).toEqual(["1.0.0"]);
  expect(await ask(one, "v1.1.0")).toBe("held by the roll-out: proxies disagree about channel default, which answers v1.0.0 and v1.1.0");
  await answers(two, "v1.1.0");
  await t.auth.look();
  expect(await begun()).toEqual(["1.0.0", "1.1.0"]);
  expect(await ask(two, "v1.1.0")).toBe("v1.1.0");
  await report("1.1.0");
  await answers(two, "v1.0.0");
  await t.auth.look();
  expect(await begun()).toEqual(["1.0.0", "1.1.0"]);
  expect(await ask(two, "v1.0.0")).toMatch(/^held by the roll-out: proxies disagree/);
});
