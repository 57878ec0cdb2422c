import { expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { openTestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";
import { until } from "../../../test/world/until.ts";
import { type Registered, TunnelRegistry } from "./registry.ts";
import { SilenceWatch } from "./silence-watch.ts";

test("a host that is silent in all of its tunnels is reported after 20 s, once, and again when it is heard", async () => {
  await using t = await openTestAuth();
  const { secret } = await t.admin.createToken({ roles: ["node"] });
  const { hostId } = await t.connect().join({ token: secret, role: "node", hostname: "web1", ...publicKeys(generateKeys()) });
  const auth = t.auth.localClient("proxy");
  await auth.reportNode({ hostId, hostname: "web1", version: "1", connected: true });
  const registry = new TunnelRegistry<Registered & { readonly peer: string }>();
  const quiet = { a: 0, b: 0 };
  for (const which of ["a", "b"] as const) {
    registry.add({
      identity: { kind: "host", id: hostId, role: "node", cluster: "test", names: [], validBefore: new Date(0) },
      facts: { hostname: "web1", labels: {}, services: [], version: "1" },
      peer: "203.0.113.9:1",
      draining: false,
      ended: false,
      sharesName: false,
      streams: 0,
      offered: [],
      silentFor: () => quiet[which],
      send: () => {},
      end: () => {},
    });
  }
  const watch = new SilenceWatch(registry, { auth, log: silentLog });
  const look = (a: number, b: number): void => {
    Object.assign(quiet, { a, b });
    watch.look(0);
  };
  const connected = async () => {
    const { json } = await t.admin.getResource({ kind: "node", name: hostId });
    return (JSON.parse(json) as { status: { connected: boolean } }).status.connected;
  };
  look(20_000, 19_999);
  look(19_999, 20_000);
  expect(await connected()).toBe(true);
  look(20_000, 20_000);
  await until("the silent host is reported", async () => !(await connected()));
  await t.auth.look();
  expect((await t.events("agent.gone")).map(({ reason }) => reason)).toEqual(["it did not respond for 20 s"]);
  look(22_000, 0);
  await until("the host is heard again", connected);
});
