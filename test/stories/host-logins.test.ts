import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { freePorts } from "../world/free-port.ts";
import { type HostInRoot, hostInRoot } from "../world/host-in-root.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { type OwnRoot, openOwnRoot } from "../world/own-root.ts";
import { program, start } from "../world/program.ts";
import { until } from "../world/until.ts";

/** What a Debian's own tools see of sessions, and what keeps users out of a host. */
describe.skipIf(machinesSkip !== undefined)("logins of a host", { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let root: OwnRoot;
  let host: HostInRoot;
  let user: User;
  beforeAll(async () => {
    root = await openOwnRoot();
    await root.sh("useradd -m -s /bin/sh bob; useradd -m -s /usr/sbin/nologin daemonic; useradd -m -s /no/such/shell lost");
    cluster = await startCluster();
    host = await hostInRoot(cluster, root, { name: "web-1" });
    user = await cluster.user("alice", { logins: "root,bob,daemonic,lost" });
  }, 180_000);
  afterAll(async () => {
    await root?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** A session at a terminal that lasts until a line is typed; the terminal's name. */
  async function atTerminal(login: string) {
    const child = start(program("tsh"), ["ssh", "-tt", `${login}@web-1`, "tty; read line"], { env: { TSH_HOME: user.home } });
    let printed = "";
    child.stdout?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const line = await until("the session tells its terminal", () => /\/dev\/(pts\/\d+)/.exec(printed)?.[1]);
    const end = async (): Promise<void> => {
      child.stdin?.write("\n");
      await ended;
    };
    return { line, end, ended };
  }

  test("who, last and lastlog show user, terminal and address of a session at a terminal, and its end", async () => {
    const session = await atTerminal("bob");
    expect(await root.sh("who")).toMatch(new RegExp(`^bob +${session.line} +\\S+ \\S+ \\(127\\.0\\.0\\.1\\)\n$`));
    expect(await root.sh("last -w -F bob")).toMatch(new RegExp(`bob +${session.line} +127\\.0\\.0\\.1 .*still logged in`));
    expect(await root.sh("lastlog -u bob")).toMatch(new RegExp(`bob +${session.line} +127\\.0\\.0\\.1 `));
    await session.end();
    await until("the record has ended", async () => (await root.sh("who")) === "");
    // wtmp comes after utmp.
    await until("its end is in wtmp", async () => / - .*\(00:0\d\)/.test(await root.sh("last -w -F bob")));
    expect(await root.sh("utmpdump /run/utmp 2>/dev/null | grep -c '^.7.' || true")).toBe("0\n");
  });

  test("two sessions at a time have a record each", async () => {
    const [first, second] = [await atTerminal("bob"), await atTerminal("root")];
    expect((await root.sh("who | cut -d' ' -f1 | sort")).split("\n")).toEqual(["bob", "root", ""]);
    await first.end();
    await until("the first record has ended", async () => (await root.sh("who | cut -d' ' -f1")) === "root\n");
    await second.end();
    await until("the second record has ended", async () => (await root.sh("who")) === "");
  });

  test("a command without a terminal has no record", async () => {
    expect((await user.tsh(["ssh", "bob@web-1", "who; echo done"])).stdout).toBe("done\n");
  });

  test("an agent that was killed ends at its next start the records of its sessions, and no others", async () => {
    const session = await atTerminal("bob");
    await host.kill();
    await session.ended;
    await until("the shell was hung up", async () => (await root.run(["pgrep", "-u", "bob"])).status === 1);
    // Another writer: also an ended process, with a different id.
    const other = `s/\\[P[0-9a-z]*/[ts\\/9/; s/bob/eve/`;
    await root.sh(`utmpdump /run/utmp 2>/dev/null | grep '^.7.' | sed '${other}' >/tmp/other && utmpdump -r </tmp/other >>/run/utmp`);
    expect(await root.sh("utmpdump /run/utmp 2>/dev/null | grep -c '^.7.'")).toBe("2\n");
    await host.again();
    const left = await root.sh("utmpdump /run/utmp 2>/dev/null | grep '^.7.'");
    expect(left.trim().split("\n")).toHaveLength(1);
    expect(left).toContain("eve");
    expect(await root.sh("last -w -F bob | head -1")).not.toContain("still logged in");
  });

  test("/etc/nologin keeps all but root out, and its text is shown", async () => {
    await root.sh("echo 'Down for the move to the new rack until 18:00.' >/etc/nologin");
    const refused = await user.tsh(["ssh", "bob@web-1", "id"]);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain("Down for the move to the new rack until 18:00.");
    expect((await user.tsh(["ssh", "root@web-1", "id -un"])).stdout).toBe("root\n");
    await root.sh("rm /etc/nologin");
    expect((await user.tsh(["ssh", "bob@web-1", "id -un"])).stdout).toBe("bob\n");
  });

  test("an account that has expired or is locked is closed for sessions, files and ports; one that never had a password is open", async () => {
    const [port] = (await freePorts(1)) as [number];
    const answers = async (): Promise<string[]> => {
      const done = await Promise.all([
        user.tsh(["ssh", "bob@web-1", "id -un"]),
        user.tsh(["scp", "bob@web-1:/etc/hostname", "/dev/null"]),
        user.tsh(["ssh", "-L", `${port}:127.0.0.1:1`, "bob@web-1", "true"]),
      ]);
      return done.map(({ status, stdout, stderr }) => (status === 0 ? "in" : (/has expired|is locked/.exec(stderr)?.[0] ?? `${stdout}${stderr}`)));
    };
    expect(await root.sh("getent shadow bob | cut -d: -f2")).toBe("!\n");
    expect((await answers())[0]).toBe("in");
    await root.sh("usermod -L -e 1 bob");
    expect(await answers()).toEqual(["has expired", "has expired", "has expired"]);
    await root.sh("usermod -e '' -p '$6$x$y' bob && usermod -L bob");
    expect(await answers()).toEqual(["is locked", "is locked", "is locked"]);
    await root.sh("usermod -U bob");
    expect((await answers())[0]).toBe("in");
  });

  test("a user whose shell is nologin reads its line, for a shell, a command and files", async () => {
    for (const args of [
      ["-tt", "daemonic@web-1"],
      ["daemonic@web-1", "id"],
    ]) {
      const closed = await user.tsh(["ssh", ...args]);
      expect(closed.status, args.join(" ")).toBe(1);
      expect(closed.stdout).toContain("This account is currently not available.");
    }
    const copy = await user.tsh(["scp", "daemonic@web-1:/etc/passwd", "/dev/null"]);
    expect(copy.status).not.toBe(0);
    expect(copy.stderr).toContain("its shell is /usr/sbin/nologin");
  });

  test("a shell that is not there is named", async () => {
    const refused = await user.tsh(["ssh", "lost@web-1", "id"]);
    expect(refused.status).toBe(255);
    expect(refused.stderr).toContain("/no/such/shell");
  });
});
