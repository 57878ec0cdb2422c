import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { run } from "../world/program.ts";
import { until } from "../world/until.ts";

const rollout = `kind: upgrade_rollout
version: v1
metadata: {name: default}
spec:
  groups:
    - {name: staging, labels: {env: staging}, canaries: 1}
    - {name: prod, labels: {"*": "*"}, canaries: 1, wait: 1h}
`;
const channels = "  automatic_upgrades_channels:\n    default:\n      static_version: 1.99.0\n";

interface Host {
  readonly id: string;
  readonly name: string;
  /** Where its last tick ended, as its updater would write it. */
  ended(state: object): Promise<void>;
  /** The version endpoint's answer, and why it is held. */
  ask(): Promise<string>;
}

/** An agent with a stand-in for its updater. */
async function host(cluster: Cluster, name: string, env: string): Promise<Host> {
  const dir = join(cluster.dir, `updater-${name}`);
  await mkdir(dir);
  const program = join(dir, "platform-upgrade");
  await writeFile(program, "#!/bin/sh\n", { mode: 0o755 });
  const updater = { PLATFORM_UPGRADE_CONFIG: dir, PLATFORM_UPGRADE_STATE: dir, PLATFORM_UPGRADE_PROGRAM: program };
  const ended: Host["ended"] = (state) =>
    writeFile(
      join(dir, "state"),
      JSON.stringify({ version: 1, updater_version: "1.0.0", channel: "default", skip: [], at: new Date().toISOString(), ...state }),
    );
  await ended({ reason: "outside_window", target: "1.99.0" });
  await cluster.agent({ name, labels: { env }, env: updater });
  const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { metadata: { name: string }; spec: { hostname: string } }[];
  const id = nodes.find((node) => node.spec.hostname === name)?.metadata.name ?? "";
  const url = `https://${cluster.proxy}/v1/webapi/automaticupgrades/channel/default/version?host=${id}`;
  const ask = async (): Promise<string> => {
    const { stdout } = await run("curl", ["-ksS", "--max-time", "10", "-D", "-", url]);
    const held = /^platform-upgrade-held: (.*)\r$/im.exec(stdout)?.[1];
    return held ?? stdout.split("\r\n\r\n")[1] ?? "";
  };
  return { id, name, ended, ask };
}

interface Status {
  readonly channels: {
    readonly group?: string;
    readonly phase: string;
    readonly stopped?: { readonly why: string };
    readonly groups: { readonly canaries: string[] }[];
  }[];
}

test("the canary goes first; its roll-back stops the roll-out for all; resume and promote go on", { timeout: 300_000 }, async () => {
  await using cluster = await startCluster({ proxyService: channels });
  const hosts = [await host(cluster, "stage-1", "staging"), await host(cluster, "stage-2", "staging"), await host(cluster, "prod-1", "prod")];
  const [prod] = hosts.slice(2) as [Host];
  await until("all are enrolled", async () => {
    const listed = await cluster.admin("inventory", "ls", "--upgrader=unit");
    return hosts.every(({ name }) => listed.includes(name));
  });
  const plan = await cluster.admin("upgrades", "plan", "--to=1.50.0");
  expect(plan).toContain("no upgrade_rollout: every host upgrades in its own maintenance window");
  expect(plan).toMatch(/stage-1 .* 1\.50\.0 +stays .*create a cluster_maintenance_config/);

  await writeFile(join(cluster.dir, "rollout.yaml"), rollout);
  await cluster.admin("create", join(cluster.dir, "rollout.yaml"));
  const state = async (): Promise<Status["channels"][number] | undefined> =>
    (JSON.parse(await cluster.admin("upgrades", "status", "--format=json")) as Status).channels[0];
  const canary = await until("a canary is chosen", async () => {
    const [name] = (await state())?.groups[0]?.canaries ?? [];
    return hosts.find((one) => one.name === name);
  });
  const other = hosts.slice(0, 2).find((one) => one !== canary) as Host;
  await until("the canary may take it", async () => (await canary.ask()) === "v1.99.0");
  expect(await other.ask()).toMatch(/^held by the roll-out: the canaries of group staging go first/);
  expect(await prod.ask()).toMatch(/^held by the roll-out: group prod comes after staging/);

  await canary.ended({ reason: "rolled_back", target: "1.99.0", detail: "its tunnel did not come back" });
  await until("the roll-out stops", async () => (await state())?.stopped?.why === `${canary.name} rolled back from v1.99.0`, 60_000);
  await until("the canary is held too", async () => (await canary.ask()).includes("was stopped at"));
  const status = await cluster.admin("upgrades", "status");
  expect(status).toMatch(/State: +STOPPED since /);
  expect(status).toContain(`${canary.name} `);
  expect(await cluster.admin("audit", "ls", "--event=rollout.stopped")).toContain(`${canary.name} rolled back from v1.99.0`);

  expect(await cluster.admin("upgrades", "resume")).toContain("canaries of group staging");
  await until("the other one is the canary now", async () => (await other.ask()) === "v1.99.0");
  expect(await prod.ask()).toMatch(/group prod comes after staging/);
  expect(await cluster.admin("upgrades", "promote", "--group=prod")).toContain("group prod, since");
  await until("prod may take it", async () => (await prod.ask()) === "v1.99.0");

  expect(await cluster.admin("upgrades", "pause")).toContain("paused by");
  await cluster.restart();
  await until("a pause outlives a restart", async () => (await prod.ask()).includes("has been paused since"));
  expect((await cluster.tctl(["upgrades", "pause"])).stderr).toContain("is already paused");
});
