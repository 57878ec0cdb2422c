import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { agentConfig } from "../world/cluster-config.ts";
import type { User } from "../world/cluster-user.ts";
import { holdSession } from "../world/held-session.ts";
import { type Machine, startMachine } from "../world/machine.ts";
import { type HostAddress, openHostAddress } from "../world/machine-network.ts";
import { sshServer } from "../world/machine-recipes.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { program } from "../world/program.ts";
import { until } from "../world/until.ts";

const units = resolve(import.meta.dirname, "../../packaging/systemd");

/** The package's unit on a Debian with systemd, and the file /etc/pam.d/sshd that its OpenSSH brings. */
describe.skipIf(machinesSkip !== undefined)("PAM on a host with systemd", { timeout: 180_000 }, () => {
  let address: HostAddress;
  let cluster: Cluster;
  let user: User;
  let machine: Machine;
  beforeAll(async () => {
    address = await openHostAddress();
    cluster = await startCluster({ address: address.address });
    user = await cluster.user("alice", { logins: "bob" });
    machine = await startMachine({ packages: sshServer });
    await machine.copyIn(program("platform"), "/usr/bin/platform", 0o755);
    await machine.copyIn(resolve(units, "platform.service"), "/usr/lib/systemd/system/platform.service");
    await machine.copyIn(resolve(units, "10-platform.conf"), "/usr/lib/systemd/system/platform.service.d/10-platform.conf");
    const facts = { name: machine.hostname, dataDir: "/var/lib/platform", proxy: cluster.proxy, labels: {} };
    const config = agentConfig({ ...facts, token: await cluster.token(), pin: await cluster.pin(), more: "  pam: { enabled: yes }\n" });
    await machine.write("/etc/platform.yaml", config, 0o600);
    await machine.output(["useradd", "-m", "-s", "/bin/sh", "bob"]);
    await machine.systemctl("daemon-reload");
    await machine.systemctl("start", "platform");
    await until("a session can be had", async () => (await user.tsh(["ssh", `bob@${machine.hostname}`, "true"])).status === 0);
  }, 300_000);
  afterAll(async () => {
    await machine?.stop();
    await cluster?.[Symbol.asyncDispose]();
    await address?.[Symbol.asyncDispose]();
  });

  const sessions = async (): Promise<string> => (await machine.run(["loginctl", "list-sessions", "--no-legend"])).stdout.trim();
  const closed = () => until("logind has no session", async () => (await sessions()) === "");
  /** A session at a terminal, with what logind says of it. */
  async function held() {
    await closed();
    const session = holdSession(user, ["ssh", "-tt", `bob@${machine.hostname}`, "echo id=$XDG_SESSION_ID=; cat /proc/self/cgroup; exec sleep 600"]);
    const [, id = ""] = /id=(\w+)=/.exec(await session.until(/session-\w+\.scope/)) ?? [];
    return { session, id, shown: await machine.output(["loginctl", "show-session", id]) };
  }

  test("logind has the session of a user, in a scope of its own, with its origin; and its end", async () => {
    const { session, id, shown } = await held();
    expect(shown).toMatch(/^Name=bob$/m);
    expect(shown).toMatch(/^Service=sshd$/m);
    expect(shown).toMatch(/^Remote=yes$/m);
    expect(shown).toMatch(new RegExp(`^RemoteHost=${address.address.replaceAll(".", "\\.")}$`, "m"));
    expect(shown).toMatch(/^RemoteUser=alice$/m);
    expect(shown).toMatch(/^TTY=pts\/\d+$/m);
    expect(session.shown()).toContain(`session-${id}.scope`);
    expect(await machine.output(["cat", `/proc/${/^Leader=(\d+)$/m.exec(shown)?.[1]}/comm`])).toBe("sleep\n");
    await session[Symbol.asyncDispose]();
    await closed();
    const journal = await machine.output(["journalctl", "--no-pager", "--output=cat", "--grep=pam_unix"]);
    expect(journal).toMatch(/pam_unix\(sshd:session\): session opened for user bob/);
    expect(journal).toMatch(/pam_unix\(sshd:session\): session closed for user bob/);
  });

  test("a kill -9 of the agent leaves no session behind", async () => {
    const { session } = await held();
    await machine.systemctl("kill", "--signal=KILL", "platform");
    await closed();
    await session.ended;
    await until("a session can be had again", async () => (await user.tsh(["ssh", `bob@${machine.hostname}`, "true"])).status === 0, 60_000);
  });

  test("a stop of the service leaves none either, and nothing of the service", async () => {
    const { session } = await held();
    await machine.systemctl("stop", "platform");
    await closed();
    await session.ended;
    expect((await machine.run(["pgrep", "-x", "platform|platform-pam"])).stdout).toBe("");
  });
});
