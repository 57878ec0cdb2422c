import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { holdSession } from "../world/held-session.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { openPamWorld, type PamWorld } from "../world/pam-world.ts";
import { program } from "../world/program.ts";

/** A Debian's own PAM, with its modules, sees our sessions as it sees those of sshd. */
describe.skipIf(machinesSkip !== undefined)("PAM", { timeout: 120_000 }, () => {
  let world: PamWorld;
  beforeAll(async () => {
    world = await openPamWorld();
  }, 180_000);
  afterAll(async () => await world?.[Symbol.asyncDispose]());
  beforeEach(async () => await world.forget());

  describe.for([
    ["tsh ssh", (login: string, command: string) => world.tsh(login, command)],
    ["stock OpenSSH", (login: string, command: string) => world.openssh("ssh", [`${login}@web-1.test.cluster`, command])],
  ] as const)("through %s", ([, ssh]) => {
    test.for([
      ["carol", "an expired account (pam_unix)", /Your account has expired/],
      ["frank", "a password that must be changed, for which nobody can be asked", /required to change your password immediately/],
      ["erin", "one that pam_access does not let in", /PAM \(service platform-test, account\) refuses erin: Permission denied/],
    ] as const)("%s is refused: %s", async ([login, , words]) => {
      const refused = await ssh(login, "echo in");
      expect(refused).toMatchObject({ stdout: "" });
      expect(refused.status).not.toBe(0);
      expect(refused.stderr).toMatch(words);
      expect(await world.pam.calls()).toEqual([]);
    });

    test("pam_nologin keeps a user out with the admin's words, and the audit log has them", async () => {
      await world.root.sh("echo 'Back at noon.' >/run/nologin");
      try {
        const refused = await ssh("bob", "echo in");
        expect(refused.stdout).toBe("");
        expect(refused.stderr).toContain("Back at noon.");
      } finally {
        await world.root.sh("rm /run/nologin");
      }
      const { error } = await audited(world.cluster, "auth", { login: "bob", user: "alice", server_name: "web-1" });
      expect(error).toMatch(/PAM \(service platform-test, account\) refuses bob: Back at noon\./);
    });

    test("a command runs with the limits, umask, groups and variables of modules, and not with those that would lie", async () => {
      const done = await ssh(
        "bob",
        'ulimit -Sn; ulimit -Hn; umask; id -nG; set -- $SSH_CLIENT; echo "$FROM_PAM $TEAM $1 $HOME"; ls /proc/self/fd | wc -l',
      );
      expect(done).toMatchObject({
        status: 0,
        stdout: "222\n333\n0027\nbob\nyes team-bob,team-carol,team-dave,team-erin,team-frank,team-root 127.0.0.1 /home/bob\n4\n",
      });
    });

    test("modules are called at open and at close with the user, the origin and the terminal", async () => {
      expect((await ssh("bob", "exit 7")).status).toBe(7);
      const facts = {
        service: "platform-test",
        user: "bob",
        rhost: "127.0.0.1",
        tty: "ssh",
        ruser: "alice",
        team: expect.stringContaining("team-bob"),
      };
      const calls = await world.pam.counted(1, 1);
      expect(calls).toEqual([
        { type: "open_session", ...facts },
        { type: "close_session", ...facts },
      ]);
    });
  });

  test("pam_mkhomedir makes the home before the session enters it", async () => {
    expect((await world.tsh("dave", "pwd; stat -c %U .")).stdout).toBe("/home/dave\ndave\n");
  });

  test("a shell at a terminal shows the modules' messages, and PAM gets the terminal; a command and .hushlogin show nothing", async () => {
    await using session = holdSession(world.user, ["ssh", "-tt", "bob@web-1"]);
    session.type("tty; exit\n");
    expect(await session.ended).toBe(0);
    expect(session.shown()).toContain("Welcome to the rack.");
    const terminal = /\/dev\/pts\/\d+/.exec(session.shown())?.[0];
    expect((await world.pam.counted(1, 1)).map(({ tty }) => tty)).toEqual([terminal, terminal]);
    expect((await world.tsh("bob", "true")).stdout).toBe("");
    expect((await world.user.tsh(["ssh", "-tt", "bob@web-1", "echo quiet"])).stdout).toBe("quiet\r\n");
    await world.root.sh("touch /home/bob/.hushlogin");
    await using hushed = holdSession(world.user, ["ssh", "-tt", "bob@web-1"]);
    hushed.type("exit\n");
    await hushed.ended;
    expect(hushed.shown()).not.toContain("Welcome");
    await world.root.sh("rm /home/bob/.hushlogin");
  });

  test("SFTP opens a session too, with its umask, and closes it", async () => {
    await chmod(world.config, 0o644);
    const done = await world.openssh("sftp", ["-b", "-", "bob@web-1.test.cluster"], `put ${world.config} new\nls\n`);
    expect(done.stderr).toBe("");
    expect(done.status).toBe(0);
    expect(await world.root.sh("stat -c '%a %U' /home/bob/new; rm /home/bob/new")).toBe("640 bob\n");
    expect((await world.pam.counted(1, 1)).map(({ tty, user: login }) => `${login} ${tty}`)).toEqual(["bob ssh", "bob ssh"]);
  });

  test("a variable of a module loads nothing into the process that serves SFTP, which begins as root", async () => {
    await world.root.sh("echo 'LD_PRELOAD DEFAULT=/nowhere.so' >>/etc/pam-test-env");
    try {
      expect((await world.tsh("bob", "true")).stderr).toContain("/nowhere.so");
      expect((await world.openssh("sftp", ["-b", "-", "bob@web-1.test.cluster"], "ls\n")).stderr).toBe("");
    } finally {
      await world.root.sh("sed -i /LD_PRELOAD/d /etc/pam-test-env");
    }
  });

  test("a connection that only forwards is asked about its account and opens no session", async () => {
    const port = world.cluster.ports.web;
    const forward = (login: string) => world.openssh("ssh", ["-W", `127.0.0.1:${port}`, `${login}@web-1.test.cluster`], "GET / HTTP/1.0\r\n\r\n");
    expect((await forward("erin")).stderr).toContain("refuses erin");
    expect((await forward("bob")).stderr).not.toContain("refuses");
    expect(await world.pam.calls()).toEqual([]);
  });

  test("a module that refuses the session is heard, and the program does not run", async () => {
    await world.root.sh("sed -i '1i session required pam_echo.so file=/etc/pam-test-motd\\nsession requisite pam_deny.so' /etc/pam.d/platform-test");
    try {
      const refused = await world.tsh("bob", "echo in");
      expect(refused).toMatchObject({ stdout: "", status: 255 });
      expect(refused.stderr).toMatch(/PAM \(service platform-test, session\) refuses bob: Welcome to the rack\./);
      const end = await audited(world.cluster, "session.end", { login: "bob", exit_code: 255 });
      expect(end.reason).toContain("refuses bob");
      const copy = await world.openssh("sftp", ["-b", "-", "bob@web-1.test.cluster"], "ls\n");
      expect(copy.stderr).toContain("PAM (service platform-test, session) refuses bob");
    } finally {
      await world.root.sh("sed -i 1,2d /etc/pam.d/platform-test");
    }
  });

  test("a program that cannot be run is named, and its session is closed", async () => {
    await world.root.sh("usermod -s /no/such/shell dave");
    const refused = await world.tsh("dave", "true");
    expect(refused.status).toBe(255);
    expect(refused.stderr).toContain("/no/such/shell");
    await world.pam.counted(1, 1);
    await world.root.sh("usermod -s /bin/sh dave");
  });

  test("where PAM is not configured nothing of it is called", async () => {
    for (const login of ["bob", "erin"]) expect((await world.user.tsh(["ssh", `${login}@plain-1`, "echo $FROM_PAM-"])).stdout).toBe("-\n");
    // The shadow file counts without PAM too.
    expect((await world.user.tsh(["ssh", "carol@plain-1", "true"])).stderr).toContain("expired");
    expect(await world.pam.calls()).toEqual([]);
  });

  test("a host whose PAM cannot be used does not start its agent, and explains what to do", async () => {
    await world.root.sh("mv /lib/x86_64-linux-gnu/libpam.so.0 /lib/x86_64-linux-gnu/libpam.so.none");
    try {
      const agent = await failedStart(["platform"]);
      expect(agent).toMatch(/ssh_service\.pam is enabled but cannot be used here: libpam\.so\.0: cannot open shared object file/);
      expect(agent).toContain("set ssh_service.pam.enabled to no, or install");
    } finally {
      await world.root.sh("mv /lib/x86_64-linux-gnu/libpam.so.none /lib/x86_64-linux-gnu/libpam.so.0");
    }
  });

  test("an agent that is not root does not start with it, and reports why", async () => {
    expect(await failedStart(["runuser", "-u", "bob", "--", "platform"])).toMatch(/an agent that is not root cannot open PAM sessions/);
  });

  /** What an agent prints that has the same configuration and must end. */
  async function failedStart([...command]: string[]): Promise<string> {
    await world.root.sh(`mkdir -p /home/bob/data; cp ${join(world.host.agent.dir, "platform.yaml")} /home/bob/data/; chown -R bob /home/bob/data
sed -i 's|^  data_dir:.*|  data_dir: /home/bob/data|' /home/bob/data/platform.yaml`);
    const done = await world.root.run([...command.slice(0, -1), program("platform"), "start", "--config", "/home/bob/data/platform.yaml"], {
      limitMs: 20_000,
    });
    expect(done.status).toBe(2);
    return done.stderr;
  }
});
