import { expect, test } from "vitest";
import { openTestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

test("a host that is removed at the moment in which it is found gone is not gone for ever", async () => {
  await using t = await openTestAuth();
  const proxy = t.auth.localClient("proxy");
  const join = async (hostname: string): Promise<string> => {
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    const { hostId } = await t.connect().join({ token: secret, role: "node", hostname, ...publicKeys(generateKeys()) });
    await proxy.reportNode({ hostId, hostname, version: "1", connected: true });
    return hostId;
  };
  // The look and the removal meet at every step of each other: the one in question was 12 or 13 (of 60).
  for (let steps = 0; steps < 24; steps += 1) {
    const hostId = await join(`web${steps}`);
    await proxy.reportNode({ hostId, hostname: `web${steps}`, version: "1", connected: false, ending: "silent" });
    const removed = t.admin.deleteResource({ kind: "node", name: hostId });
    for (let step = 0; step < steps; step += 1) await Promise.resolve();
    await Promise.all([removed, t.auth.look()]);
  }
  expect(await t.auth.metrics()).toMatch(/^platform_agents_gone 0$/m);
  await t.restart();
  expect(await t.auth.metrics()).toMatch(/^platform_agents_gone 0$/m);
});
