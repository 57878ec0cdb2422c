import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { startCluster } from "../world/cluster.ts";
import { type Agent, makeAgent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { eachOf } from "../world/each-of.ts";
import { expectRunning } from "../world/expect-running.ts";
import { freePorts } from "../world/free-port.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import { setWindow } from "../world/maintenance-window.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { type PackagedControl, startPackagedControl } from "../world/packaged-control.ts";
import { dist, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { openRelease, releaseSkip } from "../world/released-packages.ts";
import { processes } from "../world/reload.ts";
import { replaceExecutable } from "../world/replace-executable.ts";
import { until } from "../world/until.ts";
import { startWork } from "../world/work-on-host.ts";

const release = machineFixture(openRelease, releaseSkip);

const kinds = ["role", "user", "token", "lock", "cluster_maintenance_config"] as const;

/** What the admin has made, as it is listed. */
async function stored({ admin, pin }: PackagedControl): Promise<Record<string, unknown>> {
  const lists: Record<string, unknown> = { pin: await pin() };
  for (const kind of kinds) lists[kind] = JSON.parse(await admin("get", kind, "--format=json"));
  return lists;
}

interface Visit {
  readonly user: User;
  readonly hosts: readonly string[];
  /** Of `tctl auth sign`. */
  readonly identity: string;
  readonly proxy: string;
}

/** Sessions and a list of hosts: with the tsh of the release, and in the same home with today's. */
async function comesIn({ user, hosts, identity, proxy }: Visit): Promise<void> {
  for (const executable of [user.executable, program("tsh")]) {
    const tsh = (...args: string[]) => run(executable, args, { env: { TSH_HOME: user.home } });
    for (const host of hosts) expect(await tsh("ssh", `root@${host}`, "echo in")).toMatchObject({ status: 0, stdout: "in\n" });
    expect(await tsh("ls")).toMatchObject({ status: 0, stdout: expect.stringContaining(hosts[0] ?? "") });
    const robot = await tsh("-i", identity, `--proxy=${proxy}`, "ssh", `root@${hosts[0]}`, "echo robot");
    expect(robot).toMatchObject({ status: 0, stdout: "robot\n" });
  }
}

/** A terminal session is recorded on the host, and played. */
async function isRecorded(control: PackagedControl, user: User, host: string): Promise<void> {
  const before = (await listRecordings(control)).map(({ sid }) => sid);
  await user.tsh(["ssh", "-tt", `root@${host}`, "echo recorded"]);
  const { sid } = await until("the recording is complete", async () =>
    (await listRecordings(control)).find((one) => !before.includes(one.sid) && one.state === "complete"),
  );
  for (const one of [sid, ...before.slice(-1)]) expect((await user.tsh(["play", one])).stdout).toContain("recorded");
}

/** The files that the release's own command has written, as its README says. */
const configured = ["/root/control.yaml", "/root/agent.yaml"] as const;

async function configure({ host: { machine } }: PackagedControl, facts: { token: string; pin: string }): Promise<void> {
  const control = `--roles=auth,proxy --cluster-name=access.example.com --public-addr=access.example.com:443 --packages-dir=/repository --data-dir=/var/lib/fresh`;
  const agent = `--roles=node --proxy=access.example.com:443 --token=${facts.token} --ca-pin=${facts.pin} --data-dir=/var/lib/fresh`;
  const script = `openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=access.example.com -addext subjectAltName=DNS:access.example.com \
  -keyout /etc/ssl/access.key -out /etc/ssl/access.pem 2>/dev/null
platform configure ${control} --cert-file=/etc/ssl/access.pem --key-file=/etc/ssl/access.key --output=${configured[0]}
platform configure ${agent} --output=${configured[1]}`;
  await machine.output(["sh", "-ec", script]);
}

test("control of the last release is upgraded by the current package, keeps its data, and is downgraded again; no connection is cut", {
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
  const released = program("platform", from.programs);
  const agents: Agent[] = [];
  const joins = async (name: string, platform: string, more = {}): Promise<void> => {
    agents.push(stack.use(await makeAgent(control, { name, platform, token, ...more })));
    await eachOf(agents, (agent) => agent.connected());
  };
  await joins("old-1", released);
  await joins("new-1", program("platform"));
  const [port] = await freePorts(1);
  const direct = { authServer: `${machine.address}:3025`, sshService: `  listen_addr: ${machine.gateway}:${port}\n` };
  await joins("direct-1", released, direct);
  const alice = await control.user("alice", { programs: from.programs });
  const carol = await control.user("carol", { programs: from.programs, roles: "access,ops,editor" });
  await control.admin("auth", "sign", "--user=alice", "--ttl=8h", "--out=/root/robot.id");
  const identity = join(dir, "robot.id");
  await writeFile(identity, await machine.read("/root/robot.id"), { mode: 0o600 });
  await isRecorded(control, alice, "old-1");
  let made = await stored(control);

  const [atOld, atNew] = [stack.use(await startWork(alice, "root@old-1", dir)), stack.use(await startWork(alice, "root@new-1", dir))];
  const becomes = async (version: "now" | "next"): Promise<void> => {
    await packages.install(versions[version]);
    // The new tctl is there, the process of before still runs.
    expect(await control.pin()).toBe(made.pin);
    if (version === "next") await control.admin("backup", "/root/before.tar.gz");
    await control.reload();
    await control.answers();
    await eachOf(agents, (agent) => agent.connected());
    await expectRunning(machine, version);
  };
  const isWell = async (): Promise<void> => {
    const visit = { hosts: agents.map(({ name }) => name), identity, proxy: control.proxy };
    await comesIn({ ...visit, user: alice });
    await eachOf(["old-1", "new-1"], (host) => isRecorded(control, alice, host));
    expect((await auditEvents(control, "user.login")).some(({ user }) => user === "alice")).toBe(true);
    expect(await stored(control)).toEqual(made);
    expect(await carol.login()).toMatchObject({ status: 0 });
    await comesIn({ ...visit, user: carol });
    for (const folder of [from.programs, dist]) {
      const env = { TSH_HOME: carol.home, PLATFORM_DATA_DIR: join(dir, "nowhere") };
      expect(await run(program("tctl", folder), ["nodes", "ls"], { env })).toMatchObject({ status: 0, stdout: expect.stringContaining("old-1") });
    }
  };
  await isWell();
  await configure(control, { token, pin: await control.pin() });
  await atOld.during("control upgrades", () => becomes("next"));
  for (const file of configured) await machine.output(["platform", "start", "--check", "--config", file]);
  await atNew.during("people at control of today", isWell);
  await atNew.during("an agent joins by a token from before, and somebody accepts an invitation", async () => {
    await joins("late-1", released);
    const dora = await control.user("dora", { programs: from.programs });
    await comesIn({ user: dora, hosts: ["late-1"], identity, proxy: control.proxy });
    made = await stored(control);
  });
  await atOld.during("control goes back", () => becomes("now"));
  await atNew.during("people at control of the release", isWell);
  await eachOf([atOld, atNew], (work) => work.end());

  // From cold, each from what the other has left.
  for (const version of ["now", "next", "now"] as const) {
    await packages.install(versions[version]);
    await machine.systemctl("restart", "platform");
    await control.answers();
    await eachOf(agents, (agent) => agent.connected());
    await expectRunning(machine, version);
    await isWell();
  }
});

test("of two processes the auth service is upgraded first, then the proxy; nothing is cut", { timeout: 600_000 }, async () => {
  const { from, dir } = release();
  const own = join(dir, "split");
  const runtime = join(own, "runtime");
  await mkdir(runtime, { recursive: true });
  const platform = join(own, "platform");
  await replaceExecutable(platform, program("platform", from.programs));
  await using cluster = await startCluster({ split: true, platform, env: { RUNTIME_DIRECTORY: runtime } });
  await using auth = await processes(join(cluster.dir, "control.pid"), runtime);
  await using proxy = await processes(join(cluster.dir, "proxy.pid"), runtime);
  const agents = [await cluster.agent({ name: "old-1", platform: program("platform", from.programs) }), await cluster.agent({ name: "new-1" })];
  const user = await cluster.user("alice", { programs: from.programs });
  await using work = await startWork(user, "root@old-1", own);
  const comesToNew = async (): Promise<void> => {
    await eachOf(agents, (agent) => agent.connected());
    expect(await user.tsh(["ssh", "root@new-1", "echo in"])).toMatchObject({ stdout: "in\n" });
    expect(await user.login()).toMatchObject({ status: 0 });
  };
  await replaceExecutable(platform, program("platform"));
  for (const [name, one] of [["auth service", auth] as const, ["proxy", proxy] as const]) {
    await work.during(`the ${name} upgrades`, async () => {
      await one.reload();
      await comesToNew();
    });
  }
  await replaceExecutable(platform, program("platform", from.programs));
  for (const [name, one] of [["proxy", proxy] as const, ["auth service", auth] as const]) {
    await work.during(`the ${name} goes back`, async () => {
      await one.reload();
      await comesToNew();
    });
  }
  await work.end();
});
