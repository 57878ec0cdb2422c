import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { roleOptionsSchema } from "../../core/resources/role.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { type HeldSession, startSession } from "../world/held-session.ts";
import { output, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { startService } from "../world/service.ts";
import { printedAtEnd, tshInTerminal, typeCode } from "../world/typed-code.ts";
import { until } from "../world/until.ts";

/** Every option of a role by the real programs: a case where it allows, and one where it refuses. */
describe("the options of roles", () => {
  let cluster: Cluster;
  /** Logged in at the start: the next code is there by the time that it is needed. */
  let careful: User;
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    careful = await holder({ require_session_mfa: true });
  }, 120_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  let users = 0;
  /** A user whose role has these options. */
  async function holder(options: object, ...login: string[]): Promise<User> {
    users += 1;
    const name = `u${users}`;
    await putRole(cluster, `r${users}`, { options });
    const user = await cluster.user(name, { roles: `access,r${users}`, noLogin: true });
    const done = await user.login(...login);
    expect(done.status, done.stderr).toBe(0);
    return user;
  }
  const ssh = (user: User, command: string, ...flags: string[]) => user.tsh(["ssh", ...flags, "root@web-1", command]);
  const session = (user: User, command: string): Promise<HeldSession> => startSession(user, "root@web-1", command);

  /** Stock OpenSSH's arguments for a user. */
  async function stock(user: User) {
    const config = join(user.home, "ssh-config");
    await writeFile(config, (await user.tsh(["config"])).stdout);
    const env = { TSH_HOME: user.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
    const base = ["-F", config, "-o", "BatchMode=yes"];
    return {
      config,
      env,
      host: "root@web-1.test.cluster",
      run: (...args: string[]) => run("ssh", [...base, ...args], { env, limitMs: 40_000 }),
      start: (...args: string[]) => startService("ssh", [...base, ...args], { env }),
    };
  }
  const forward = async (user: User) => {
    const { run: openssh, host } = await stock(user);
    // The agent's own loopback: nobody listens on port 1, and the two answers differ.
    return (await openssh("-W", "127.0.0.1:1", host)).stderr;
  };
  const validFor = async (user: User): Promise<number> => {
    const { active } = JSON.parse((await user.tsh(["status", "--format=json"])).stdout) as { active: Record<string, string> };
    const until = Object.values(active).find((value) => /^\d{4}-\d\d-\d\dT/.test(String(value)));
    return (new Date(String(until)).getTime() - Date.now()) / 1000;
  };
  const agentSocket = async (user: User): Promise<string> => {
    const { config, env, host } = await stock(user);
    const script = `eval $(ssh-agent) >/dev/null; ssh -F ${config} -A ${host} 'echo sock=$SSH_AUTH_SOCK'; kill $SSH_AGENT_PID`;
    return (await run("sh", ["-c", script], { env, limitMs: 40_000 })).stdout.trim();
  };
  async function copied(user: User): Promise<string> {
    await writeFile(join(user.home, "copied"), "whole");
    const done = await user.tsh(["scp", join(user.home, "copied"), `root@web-1:${join(cluster.dir, "arrived")}`]);
    return done.status === 0 ? await readFile(join(cluster.dir, "arrived"), "utf8") : done.stderr;
  }
  /** Two sessions at a time on one connection. */
  async function twoSessions(user: User): Promise<string> {
    const { run: openssh, start: begin, host } = await stock(user);
    const master = ["-o", `ControlPath=${join(user.home, "control")}`];
    await using _master = begin(...master, "-MN", host);
    await until("the connection is there", async () => (await openssh(...master, "-O", "check", host)).status === 0);
    await using first = begin(...master, host, "echo up; sleep 300");
    await until("the first session runs", () => first.printed().includes("up"));
    const second = await openssh(...master, host, "echo two");
    return second.stdout + second.stderr;
  }

  interface Cases {
    readonly allows: () => Promise<void>;
    readonly refuses: () => Promise<void>;
  }
  /**
   * Need a network, a second process, an X server, a host, a disk or a database of their own: role-addresses, role-strict-lock, x11, host-users,
   * session-join, databases-users, databases-replication.
   */
  const hosts = ["pin_source_ip", "lock", "permit_x11_forwarding", "create_host_user_mode", "record_session"];
  const elsewhere = [...hosts, "create_db_user_mode", "create_db_user", "db_replication"];
  const cases: Readonly<Record<string, Cases>> = {
    max_session_ttl: {
      allows: async () => expect(await validFor(await holder({ max_session_ttl: "20h" }, "--ttl=15h"))).toBeGreaterThan(14.9 * 3600),
      refuses: async () => {
        const seconds = await validFor(await holder({ max_session_ttl: "2h" }, "--ttl=15h"));
        expect(seconds).toBeLessThanOrEqual(2 * 3600);
        expect(seconds).toBeGreaterThan(1.9 * 3600);
      },
    },
    forward_agent: {
      allows: async () => expect(await agentSocket(await holder({ forward_agent: true }))).toMatch(/^sock=\/.+/),
      refuses: async () => expect(await agentSocket(await holder({ forward_agent: false }))).toBe("sock="),
    },
    port_forwarding: {
      allows: async () => expect(await forward(await holder({ port_forwarding: true }))).toContain("Connection refused"),
      refuses: async () => expect(await forward(await holder({ port_forwarding: false }))).toContain("a role forbids port forwarding"),
    },
    ssh_file_copy: {
      allows: async () => expect(await copied(await holder({ ssh_file_copy: true }))).toBe("whole"),
      refuses: async () => expect(await copied(await holder({ ssh_file_copy: false }))).toContain("a role forbids copying files"),
    },
    client_idle_timeout: {
      allows: async () => expect((await ssh(await holder({ client_idle_timeout: "20s" }), "sleep 3; echo calm")).stdout).toBe("calm\n"),
      refuses: async () => expect((await ssh(await holder({ client_idle_timeout: "2s" }), "sleep 300")).stderr).toContain("no activity for 2s"),
    },
    disconnect_expired_cert: {
      allows: async () => {
        const user = await holder({ max_session_ttl: "12s", disconnect_expired_cert: false });
        expect((await ssh(user, "sleep 15; echo lived on")).stdout).toBe("lived on\n");
        // The session goes on, and the next login is refused.
        expect((await ssh(user, "true")).stderr).toContain("expired");
      },
      refuses: async () => {
        const done = await ssh(await holder({ max_session_ttl: "12s", disconnect_expired_cert: true }), "sleep 300");
        expect(done.status).not.toBe(0);
        expect(done.stderr).toMatch(/this connection was ended: the certificate of u\d+ expired at/);
      },
    },
    max_sessions: {
      allows: async () => expect(await twoSessions(await holder({ max_sessions: 2 }))).toBe("two\n"),
      refuses: async () => {
        const user = await holder({ max_sessions: 1 });
        expect(await twoSessions(user)).toContain("Session open refused by peer");
        const events = await until("the refusal is audited", async () => {
          const lines = await cluster.admin("audit", "ls", "--format=json", "--event=session.rejected", `--user=${user.name}`);
          return lines.includes("max_sessions") && lines;
        });
        expect(events).toContain("too many sessions on this connection (max_sessions: 1)");
      },
    },
    require_session_mfa: {
      allows: async () => {
        expect((await ssh(await holder({ require_session_mfa: false }), "echo in")).stdout).toBe("in\n");
        const user = careful;
        // Its standard input is for the command: the code comes from the terminal.
        const piped = tshInTerminal(user, ["ssh", "root@web-1", "cat; echo in"], "printf 'data\n' | ");
        await typeCode(user, piped);
        expect(await printedAtEnd(piped)).toMatch(/Enter the code of your authenticator for web-1: \r\n(.*\r\n)*data\r\nin\r\n/);
        const start = await until("the session is recorded", async () => {
          const lines = await cluster.admin("audit", "ls", "--format=json", "--event=session.start,exec", `--user=${user.name}`);
          return lines.includes("cat; echo in") && lines;
        });
        expect(start).toContain('"with_mfa":"otp"');
        // Nothing of it was written down.
        expect(await output("grep", ["-rl", "mfa-verified", user.home]).catch(() => "")).toBe("");
      },
      refuses: async () => {
        const user = await holder({ require_session_mfa: true });
        const typed = tshInTerminal(user, ["ssh", "root@web-1", "echo in"]);
        await typeCode(user, typed, "000000");
        expect(await printedAtEnd(typed)).toMatch(/wrong one-time code/);
        const none = await run("setsid", ["--wait", user.executable, "ssh", "root@web-1", "echo in"], { env: { TSH_HOME: user.home } });
        expect(none).toMatchObject({ status: 12, stdout: "", stderr: expect.stringContaining("run this command on a terminal") });
        const { run: openssh, host } = await stock(user);
        expect(await openssh(host, "echo in")).toMatchObject({ status: 255, stdout: "", stderr: expect.stringContaining("needs a one-time code") });
        // The list has it nevertheless.
        expect((await user.tsh(["ls"])).stdout).toContain("web-1");
      },
    },
    max_connections: {
      allows: async () => {
        const user = await holder({ max_connections: 2 });
        await using _first = await session(user, "echo up; sleep 300");
        expect((await ssh(user, "echo second")).stdout).toBe("second\n");
      },
      refuses: async () => {
        const user = await holder({ max_connections: 1 });
        const first = await session(user, "echo up; sleep 300");
        const second = await ssh(user, "echo second");
        expect(second).toMatchObject({ stdout: "" });
        expect(second.stderr).toMatch(/u\d+ already has 1 connection to this cluster \(max_connections\)/);
        await until("the refusal is audited", async () => {
          const events = await cluster.admin("audit", "ls", "--format=json", "--event=session.rejected", `--user=${user.name}`);
          return events.includes('"maximum":1');
        });
        await first[Symbol.asyncDispose]();
      },
    },
  };

  test("each option has its cases", () => {
    expect([...Object.keys(cases), ...elsewhere].sort()).toEqual(Object.keys(roleOptionsSchema.shape).sort());
  });

  for (const [option, { allows, refuses }] of Object.entries(cases)) {
    test(`${option} allows`, { timeout: 120_000 }, allows);
    test(`${option} refuses`, { timeout: 120_000 }, refuses);
  }

  test("a place is free again when its connection ends, survives a restart of control, and comes back when the agent dies", {
    timeout: 240_000,
  }, async () => {
    const user = await holder({ max_connections: 1 });
    const agent = await cluster.agent({ name: "web-2" });
    const on2 = await startSession(user, "root@web-2", "echo up; sleep 300");
    expect((await ssh(user, "true")).stderr).toContain("max_connections");
    await agent.service.kill();
    await on2[Symbol.asyncDispose]();
    expect((await ssh(user, "true")).stderr).toContain("max_connections");
    await cluster.restart();
    let last = "";
    await until(
      "the place of the dead agent expires",
      async () => {
        const done = await ssh(user, "echo in");
        last += done.stderr;
        return done.stdout === "in\n";
      },
      100_000,
    );
    expect(last).toContain("max_connections");
    expect((await ssh(user, "echo again")).stdout).toBe("again\n");
  });
});
