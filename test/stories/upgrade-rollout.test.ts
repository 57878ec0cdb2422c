import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { eachOf } from "../world/each-of.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { setWindow } from "../world/maintenance-window.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { until } from "../world/until.ts";
import type { UpgradeHost } from "../world/upgrade-host.ts";
import { openUpgradeSite, type UpgradeSite } from "../world/upgrade-site.ts";

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

const rollout = `kind: upgrade_rollout
version: v1
metadata: {name: default}
spec:
  vanished_after: 20s
  groups:
    - {name: staging, labels: {env: staging}, canaries: 1}
    - {name: prod, labels: {env: prod}}
`;

/** What the channel that all hosts follow answers from now on. */
async function publish({ cluster }: UpgradeSite, version: string): Promise<void> {
  const file = join(cluster.dir, "control.yaml");
  await writeFile(file, (await readFile(file, "utf8")).replace(/^( +now: \{ static_version: )v[\d.]+/m, `$1v${version}`));
  await cluster.restart();
}

interface ChannelStatus {
  readonly version: string;
  readonly group?: string;
  readonly phase: string;
  readonly stopped?: { readonly why: string };
  readonly groups: { readonly canaries: string[] }[];
}

test("a version goes to the canary, to its group, to the next; a bad one stops at the canary", { timeout: 1_000_000 }, async () => {
  await using site = await openUpgradeSite();
  const { cluster } = site;
  const apply = async (input: string): Promise<void> => expect(await cluster.tctl(["create", "-f", "-"], { input })).toMatchObject({ status: 0 });
  const status = async (): Promise<ChannelStatus | undefined> => {
    const { channels } = JSON.parse(await cluster.admin("upgrades", "status", "--channel=now", "--format=json")) as { channels: ChannelStatus[] };
    return channels[0];
  };
  await setWindow(cluster, 0);
  await using stack = new AsyncDisposableStack();
  const label =
    (env: string) =>
    async (host: UpgradeHost): Promise<void> =>
      await host.machine.write("/etc/platform.yaml", `${await host.machine.read("/etc/platform.yaml")}  labels:\n    env: ${env}\n`, 0o600);
  const hosts = await site.hosts(["staging", "staging", "prod"].map((env) => ({ prepare: label(env) })));
  for (const host of hosts) stack.use(host);
  await eachOf(hosts, async (host) => {
    await host.follow("now");
    expect(await host.tick()).toMatchObject({ reason: "up_to_date" });
    await host.reported("up_to_date");
  });
  await apply(rollout);

  await publish(site, versions.next);
  await eachOf(hosts, (host) => host.connected());
  const canaryOf = (version: string): Promise<UpgradeHost> =>
    until("a canary is chosen", async () => {
      const now = await status();
      return now?.version === version && hosts.find(({ machine }) => machine.hostname === now.groups[0]?.canaries[0]);
    });
  const canary = await canaryOf(versions.next);
  const others = hosts.filter((host) => host !== canary);
  const [peer, prod] = others as [UpgradeHost, UpgradeHost];
  const held = (version: string): Promise<void> =>
    eachOf(others, async (host) => {
      expect(await host.tick()).toMatchObject({ reason: "held_by_rollout", current: version });
      await host.reported("held_by_rollout");
    });
  const plan = await cluster.admin("upgrades", "plan", "--channel=now");
  expect(plan).toMatch(new RegExp(`${canary.machine.hostname} .*${versions.next.replaceAll(".", "\\.")}`));
  await held(versions.now);
  expect(await canary.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
  for (const host of [peer, prod]) {
    await until("it is its turn", async () => (await host.tick()).reason === "upgraded", 90_000);
    await host.connected(versions.next);
  }
  await until("the roll-out is done", async () => (await status())?.phase === "done", 60_000);

  await publish(site, versions.crashes);
  await eachOf(hosts, (host) => host.connected());
  const second = await canaryOf(versions.crashes);
  others.splice(0, 2, ...hosts.filter((host) => host !== second));
  await held(versions.next);
  expect(await second.tick()).toMatchObject({ reason: "rolled_back", current: versions.next });
  const why = `${second.machine.hostname} rolled back from v${versions.crashes}`;
  await until("the roll-out stops", async () => (await status())?.stopped?.why === why, 60_000);
  expect(await cluster.admin("upgrades", "status", "--channel=now")).toMatch(/State: +STOPPED since /);
  expect(await cluster.admin("audit", "ls", "--event=rollout.stopped")).toContain(why);
  await held(versions.next);
  await eachOf(hosts, (host) => host.connected(versions.next));

  expect(await cluster.admin("upgrades", "resume", "--channel=now")).toContain("canaries of group staging");
  const next = hosts.slice(0, 2).find((host) => host !== second);
  await until("the other one is the canary now", async () => (await status())?.groups[0]?.canaries[0] === next?.machine.hostname);

  await publish(site, versions.next);
  await eachOf(hosts, async (host) => {
    await host.connected(versions.next);
    await until("what was wanted before is wanted again", async () => (await host.tick()).reason === "up_to_date");
  });
});
