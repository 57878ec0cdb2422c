import { join } from "node:path";
import { expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { type Agent, makeAgent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { eachOf } from "../world/each-of.ts";
import { expectRunning } from "../world/expect-running.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import { setWindow } from "../world/maintenance-window.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { type PackagedControl, startPackagedControl } from "../world/packaged-control.ts";
import { dist, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { openRelease, releaseSkip } from "../world/released-packages.ts";
import { until } from "../world/until.ts";
import { startWork } from "../world/work-on-host.ts";

const release = machineFixture(openRelease, releaseSkip);

const kinds = ["role", "user", "token", "lock", "cluster_maintenance_config"] as const;

/** What the admin has made, as it is listed. */
async function stored({ admin }: PackagedControl): Promise<Record<string, unknown>> {
  const lists: Record<string, unknown> = {};
  for (const kind of kinds) lists[kind] = JSON.parse(await admin("get", kind, "--format=json"));
  lists.pin = /sha256:[0-9a-f]{64}/.exec(await admin("status"))?.[0];
  return lists;
}

/** Sessions and a list of hosts: with the tsh of the release, and in the same home with today's. */
async function comesIn(user: User, hosts: readonly string[]): Promise<void> {
  for (const executable of [user.executable, program("tsh")]) {
    const tsh = (...args: string[]) => run(executable, args, { env: { TSH_HOME: user.home } });
    for (const host of hosts) expect(await tsh("ssh", `root@${host}`, "echo in")).toMatchObject({ status: 0, stdout: "in\n" });
    const listed = await tsh("ls");
    expect(listed).toMatchObject({ status: 0, stdout: expect.stringContaining(hosts[0] ?? "") });
  }
}

test("control of the last release becomes today's by its package, keeps what it has stored, and goes back; nothing is cut", {
  timeout: 1_200_000,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const { from, repository, dir } = release();
  const control = stack.use(await startPackagedControl(repository, versions.now));
  const { machine, packages } = control.host;
  await putRole(control, "ops", { allow: { logins: ["root"], node_labels: { env: "prod" } }, options: { max_session_ttl: "4h" } });
  await control.admin("users", "add", "mallory", "--roles=access", "--logins=root");
  await control.admin("lock", "--user=mallory", "--message=away");
  await setWindow(control, 3);
  const token = await control.token("--ttl=12h");
  const places = [
    { name: "old-1", platform: program("platform", from.programs) },
    { name: "new-1", platform: program("platform") },
  ];
  const agents: Agent[] = [];
  for (const place of places) agents.push(stack.use(await makeAgent(control, { ...place, token })));
  const hosts = (): readonly string[] => agents.map(({ name }) => name);
  const connected = (): Promise<void> => eachOf(agents, (agent) => agent.connected());
  await connected();
  const alice = await control.user("alice", { programs: from.programs });
  const carol = await control.user("carol", { programs: from.programs, roles: "access,ops,editor" });
  await alice.tsh(["ssh", "-tt", "root@old-1", "echo recorded"]);
  const { sid } = await until("the recording is complete", async () => (await listRecordings(control)).find(({ state }) => state === "complete"));
  const isPlayed = async (): Promise<void> => {
    expect((await alice.tsh(["play", sid])).stdout).toContain("recorded");
    expect((await auditEvents(control, "user.login")).some(({ user }) => user === "alice")).toBe(true);
  };
  const before = await stored(control);

  const [atOld, atNew] = [stack.use(await startWork(alice, "root@old-1", dir)), stack.use(await startWork(alice, "root@new-1", dir))];
  const becomes = async (version: "now" | "next"): Promise<void> => {
    await packages.install(versions[version]);
    // The new tctl is there, the process of before still runs.
    expect(await control.admin("status")).toContain("test.cluster");
    await control.reload();
    await control.answers();
    await connected();
    await expectRunning(machine, version);
  };
  const isWell = async (): Promise<void> => {
    await comesIn(alice, hosts());
    await isPlayed();
    expect(await stored(control)).toEqual(before);
    expect(await carol.login()).toMatchObject({ status: 0 });
    await comesIn(carol, hosts());
    for (const folder of [from.programs, dist]) {
      const env = { TSH_HOME: carol.home, PLATFORM_DATA_DIR: join(dir, "nowhere") };
      expect(await run(program("tctl", folder), ["nodes", "ls"], { env })).toMatchObject({ status: 0, stdout: expect.stringContaining("old-1") });
    }
  };
  await atOld.during("control upgrades", () => becomes("next"));
  await atNew.during("people at control of today", isWell);
  await atNew.during("an agent joins by a token from before", async () => {
    const late = stack.use(await makeAgent(control, { name: "late-1", platform: places[0]?.platform ?? "", token }));
    agents.push(late);
    await late.connected();
  });
  await atOld.during("control goes back", () => becomes("now"));
  await atNew.during("people at control of the release", isWell);
  await eachOf([atOld, atNew], (work) => work.end());

  // From cold, each from what the other has left.
  for (const version of ["now", "next"] as const) {
    await packages.install(versions[version]);
    await machine.systemctl("restart", "platform");
    await control.answers();
    await connected();
    await expectRunning(machine, version);
    await isWell();
  }
});
