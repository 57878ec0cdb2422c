import { resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { agentConfig } from "../world/cluster-config.ts";
import type { User } from "../world/cluster-user.ts";
import { holdSession } from "../world/held-session.ts";
import { type Machine, startMachine } from "../world/machine.ts";
import { type HostAddress, openHostAddress } from "../world/machine-network.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { program } from "../world/program.ts";
import type { Status } from "../world/reload.ts";
import { until } from "../world/until.ts";

const units = resolve(import.meta.dirname, "../../packaging/systemd");

/** The agent under real systemd, with the package's unit. */
describe.skipIf(machinesSkip !== undefined)("systemctl reload platform", () => {
  let address: HostAddress;
  let cluster: Cluster;
  let user: User;
  let machine: Machine;
  beforeAll(async () => {
    address = await openHostAddress();
    cluster = await startCluster({ address: address.address });
    user = await cluster.user("alice", { logins: "root,keeper" });
  }, 60_000);
  afterAll(async () => {
    await machine?.stop();
    await cluster?.[Symbol.asyncDispose]();
    await address?.[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    await machine?.stop();
    machine = await startMachine();
    await machine.copyIn(program("platform"), "/usr/bin/platform", 0o755);
    await machine.copyIn(resolve(units, "platform.service"), "/usr/lib/systemd/system/platform.service");
    await machine.copyIn(resolve(units, "10-platform.conf"), "/usr/lib/systemd/system/platform.service.d/10-platform.conf");
    const facts = { name: machine.hostname, dataDir: "/var/lib/platform", proxy: cluster.proxy, labels: {} };
    const config = agentConfig({ ...facts, token: await cluster.token(), pin: await cluster.pin() });
    await machine.write("/etc/platform.yaml", config, 0o600);
    await machine.systemctl("daemon-reload");
  }, 60_000);

  const mainPid = async (): Promise<number> => Number((await machine.systemctl("show", "-P", "MainPID", "platform")).trim());
  const status = async (pid: number): Promise<Status> => {
    const answer = await machine.output(["curl", "-sf", "--unix-socket", `/run/platform/status-${pid}.sock`, "http://platform/status"]);
    return JSON.parse(answer) as Status;
  };
  const connected = (): Promise<Status> =>
    until("the agent is connected", async () => {
      const now = await status(await mainPid());
      return now.ready && now;
    });
  const login = async (as = "root"): Promise<void> => {
    const done = await user.tsh(["ssh", `${as}@${machine.hostname}`, "echo in"], { limitMs: 30_000 });
    expect(done, done.stderr).toMatchObject({ stdout: "in\n", status: 0 });
  };
  const reloaded = async (before: number): Promise<number> =>
    await until("systemd follows another main process", async () => {
      const main = await mainPid();
      return main !== before && main !== 0 && main;
    });

  /** What `platform doctor` says of the service. */
  const doctor = async (): Promise<unknown> => {
    const { stdout } = await machine.run(["platform", "doctor", "--format=json"]);
    return (JSON.parse(stdout) as { findings: { check: string }[] }).findings.find(({ check }) => check === "service");
  };
  /** A configuration that is refused: the reload fails, and the status keeps why; the process goes on. */
  const refusedReload = async (): Promise<void> => {
    const right = await machine.read("/etc/platform.yaml");
    const before = await mainPid();
    await machine.write("/etc/platform.yaml", `${right}nonsense: yes\n`, 0o600);
    expect((await machine.run(["systemctl", "reload", "platform"])).status).not.toBe(0);
    expect(await machine.journal("platform")).toContain("nonsense is not a known key");
    const said = await until("the status keeps why", async () => {
      const text = await machine.systemctl("show", "-P", "StatusText", "platform");
      return text.includes("last reload failed") && text;
    });
    expect(said).toContain("nonsense is not a known key");
    await machine.write("/etc/platform.yaml", right, 0o600);
    expect(await mainPid()).toBe(before);
    expect(await doctor()).toMatchObject({ outcome: "warning", hint: expect.stringContaining("last reload failed") });
  };

  test("is followed by systemd twice, cuts no session, and a stop ends every process", { timeout: 180_000 }, async () => {
    await machine.systemctl("start", "platform");
    await connected();
    await refusedReload();
    const long = user.tsh(["ssh", `root@${machine.hostname}`, "sleep 35; echo to the end"], { limitMs: 120_000 });
    const first = await mainPid();
    await until("the session is open", async () => (await status(first)).sessions >= 1);
    await machine.systemctl("reload", "platform");
    const second = await reloaded(first);
    expect(await machine.systemctl("show", "-P", "StatusText", "platform")).not.toContain("failed");
    expect((await status(second)).draining.map(({ pid }) => pid)).toEqual([first]);
    await login();
    await machine.systemctl("reload", "platform");
    const third = await reloaded(second);
    await login();
    expect((await machine.read("/run/platform.pid")).trim()).toBe(String(third));
    expect(await status(third)).toMatchObject({ role: "main", ready: true, reload: { state: "done" } });
    expect((await machine.systemctl("is-active", "platform")).trim()).toBe("active");
    expect(await machine.systemctl("show", "-P", "StatusText", "platform")).toContain((await status(third)).version);
    expect(await long).toMatchObject({ stdout: "to the end\n", status: 0 });
    const journal = await machine.output(["journalctl", "--unit=platform", "--output=cat", "--no-pager"]);
    expect(journal).not.toMatch(/not our child|does not belong|notify-socket|could not report the status/i);
    await until("the first process has ended", async () => (await status(third)).draining.length === 0);
    expect((await machine.systemctl("show", "-P", "NRestarts", "platform")).trim()).toBe("0");

    // A main process that is killed is started again by systemd, whichever process started it at first.
    await machine.output(["kill", "-KILL", String(third)]);
    await reloaded(third);
    await connected();
    const open = user.tsh(["ssh", `root@${machine.hostname}`, "sleep 600"], { limitMs: 120_000 });
    const fourth = await mainPid();
    await until("a session is open again", async () => (await status(fourth)).sessions === 1);
    await machine.systemctl("reload", "platform");
    await reloaded(fourth);
    await machine.systemctl("stop", "platform");
    expect(await doctor()).toMatchObject({ outcome: "failed", says: expect.stringContaining("platform does not run (inactive") });
    expect((await machine.run(["pgrep", "-x", "platform"])).stdout).toBe("");
    expect((await open).status).not.toBe(0);
    expect((await machine.run(["ls", "/run/platform", "/run/platform.pid"])).status).not.toBe(0);
  });

  test("no session speaks for the service, ends it, or lives in the agent's group; its processes have names", { timeout: 120_000 }, async () => {
    await machine.output(["useradd", "-m", "-s", "/bin/bash", "keeper"]);
    await machine.systemctl("start", "platform");
    await connected();
    const main = await mainPid();
    await using other = holdSession(user, ["ssh", "-tt", `root@${machine.hostname}`, "echo in; exec sleep 600"]);
    await other.until("in");
    // The socket of systemd is open to all; each of these ended the service, or took it over, while it heard everybody.
    const lines = [
      "export NOTIFY_SOCKET=/run/systemd/notify",
      "systemd-notify WATCHDOG_USEC=1000",
      "sleep 300 </dev/null >/dev/null 2>&1 & P=$!",
      "systemd-notify MAINPID=$P STATUS=owned-by-mallory",
      "systemd-notify STOPPING=1 ERRNO=1",
      "kill -ABRT $BASHPID",
    ];
    await user.tsh(["ssh", `keeper@${machine.hostname}`, lines.join("\n")]);
    const uid = (await machine.output(["id", "-u", "keeper"])).trim();
    const inside = await user.tsh(["ssh", `keeper@${machine.hostname}`, "cat /proc/self/cgroup /proc/self/oom_score_adj; ulimit -c; ulimit -u"]);
    expect(inside.stdout).toMatch(new RegExp(`/platform\\.service/sessions/${uid}/${main}-\\d+\n`));
    expect(inside.stdout).toMatch(/\n0\n0\n\d+\n$/);
    const journal = await until("systemd has refused them all", async () => {
      const text = await machine.output(["journalctl", "--output=cat", "--no-pager", "--grep=reception only permitted for main PID"]);
      return text.trim().split("\n").length >= 3 && text;
    });
    expect(journal).toContain(`reception only permitted for main PID ${main}`);
    const shown = await machine.systemctl(
      "show",
      "-p",
      "MainPID,StatusText,ActiveState,NRestarts,WatchdogUSec,OOMPolicy,LimitCORE,Delegate",
      "platform",
    );
    for (const line of [`MainPID=${main}`, "ActiveState=active", "NRestarts=0", "OOMPolicy=continue", "LimitCORE=0", "Delegate=yes"]) {
      expect(shown.split("\n")).toContain(line);
    }
    expect(shown).not.toMatch(/mallory|WatchdogUSec=1ms/);
    await login();

    // A reload still hands over, with what a session of a Unix user has left running in place.
    await machine.systemctl("reload", "platform");
    const second = await reloaded(main);
    expect((await machine.output(["pgrep", "-u", "keeper", "-x", "sleep"])).trim()).toMatch(/^\d+$/);
    expect(await machine.read(`/proc/${second}/cgroup`)).toMatch(/\/platform\.service\/agent\n/);
    expect((await machine.output(["pgrep", "-x", "platform"])).trim().split("\n").sort()).toEqual([String(main), String(second)].sort());
    expect(await machine.systemctl("status", "platform")).toContain(`Main PID: ${second} (platform)`);
    await until("systemd has its status", async () => /sessions$/m.test(await machine.systemctl("show", "-P", "StatusText", "platform")));
    // What nobody may look into dumps nothing.
    await machine.output(["kill", "-ABRT", String(second)]);
    await reloaded(second);
    expect((await machine.run(["sh", "-c", "ls /core* /var/lib/platform/core* /var/lib/systemd/coredump/*"])).stdout).toBe("");
    expect(
      (await machine.output(["sh", "-c", "find /sys/fs/cgroup -path '*platform.service/sessions/*' -name cgroup.procs | xargs -r cat"])).trim(),
    ).toBe("");
  });

  test("works for an agent that is not root: its pid file is in the runtime directory", { timeout: 120_000 }, async () => {
    await machine.output(["useradd", "-m", "-s", "/bin/sh", "keeper"]);
    await machine.output(["sh", "-c", "chown keeper /etc/platform.yaml && install -d -o keeper /var/lib/platform"]);
    const dropIn = "[Service]\nUser=keeper\nExecReload=\nExecReload=/bin/kill -HUP $MAINPID\n";
    await machine.write("/etc/systemd/system/platform.service.d/user.conf", dropIn);
    await machine.systemctl("daemon-reload");
    await machine.systemctl("start", "platform");
    await connected();
    const first = await mainPid();
    expect((await machine.read("/run/platform/platform.pid")).trim()).toBe(String(first));
    expect(await machine.journal("platform")).toContain("ExecReload=/bin/kill -HUP $MAINPID");
    await machine.systemctl("reload", "platform");
    const second = await reloaded(first);
    expect((await machine.read("/run/platform/platform.pid")).trim()).toBe(String(second));
    await login("keeper");
  });
});
