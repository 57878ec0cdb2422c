import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { groupsSkip, openControlGroups } from "../world/control-groups.ts";
import { holdSession } from "../world/held-session.ts";
import { output, program, run } from "../world/program.ts";
import { until } from "../world/until.ts";

const root = userInfo().uid === 0;

/** A session is what a person expects of a shell on that host. Root also gets a throw-away Unix user to become. */
describe("an SSH session", () => {
  const account = `pw${process.pid.toString(36)}`;
  const login = root ? account : userInfo().username;
  let cluster: Cluster;
  let user: User;
  let nodeId: string;
  beforeAll(async () => {
    if (root) {
      await output("groupadd", [`${account}g`]);
      await output("useradd", ["-m", "-s", "/bin/bash", "-G", `${account}g`, account]);
    }
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: `${login},root,no-such-user` });
    const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { metadata: { name: string } }[];
    nodeId = nodes[0]?.metadata.name as string;
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    if (root) {
      await run("userdel", ["-r", account]);
      await run("groupdel", [`${account}g`]);
    }
  });
  const ssh = (command: readonly string[], input?: string | Buffer) =>
    user.tsh(["ssh", `${login}@web-1`, ...command], { ...(input !== undefined && { input }), limitMs: 60_000 });

  test.for([0, 1, 3, 127, 255])("keeps exit status %i", async (status) => {
    expect((await ssh([`exit ${status}`])).status).toBe(status);
  });

  test("keeps a death by signal as 128 + its number", async () => {
    expect((await ssh(["kill -TERM $$"])).status).toBe(143);
  });

  test("keeps standard output and error apart", async () => {
    expect(await ssh(["echo out; echo err >&2"])).toMatchObject({ stdout: "out\n", stderr: "err\n", status: 0 });
  });

  test.for([
    ["> /dev/full", "9\n", /^ERROR: could not write to standard output: ENOSPC/],
    ["| true", "141\n", /^$/],
    ["< /tmp", "9\n", /^ERROR: could not read standard input: it is a folder/],
    // As nohup opens it.
    ["> /dev/null 0> /dev/null", "0\n", /^$/],
  ] as const)("ends with %s as a program on this host would", async ([redirection, status, errors]) => {
    // More than any pipe holds: the reader is gone before its end.
    const line = `TSH_HOME=${user.home} ${program("tsh")} ssh ${login}@web-1 'seq 1000000' ${redirection}; echo "\${PIPESTATUS[0]}"`;
    expect(await run("bash", ["-c", line])).toMatchObject({ stdout: status, stderr: expect.stringMatching(errors) });
  });

  test("reaches the host by its id", async () => {
    expect((await user.tsh(["ssh", `${login}@${nodeId}`, "echo by-id"])).stdout).toBe("by-id\n");
  });

  test("reaches the host by its name in any case of letters", async () => {
    expect(await user.tsh(["ssh", `${login}@WEB-1`, "echo by-name"])).toMatchObject({ stdout: "by-name\n", status: 0 });
  });

  test("ends with the command that has not read its input, whenever that is", async () => {
    const input = Buffer.alloc(20 * 1024 * 1024);
    const commands = ["true", "head -c 100000 > /dev/null; exit 6", "head -c 9000000 > /dev/null; echo last words; exit 7"];
    const done = await Promise.all(commands.flatMap((command) => [ssh([command], input), ssh([command], input), ssh([command], input)]));
    expect(done.map(({ status, stdout }) => [status, stdout])).toEqual(
      [
        [0, ""],
        [6, ""],
        [7, "last words\n"],
      ].flatMap((one) => [one, one, one]),
    );
  });

  test("a terminal shows the bytes as they are", async () => {
    const bytes = Array.from({ length: 256 }, (_, byte) => `\\0${byte.toString(8).padStart(3, "0")}`).join("");
    const command = `stty raw -echo; printf START; printf %b '${bytes}'; printf END`;
    const line = `exec "$TSH" ssh -t ${login}@web-1 "$COMMAND"`;
    const done = await run("script", ["-qec", line, "/dev/null"], {
      env: { TSH_HOME: user.home, TSH: program("tsh"), COMMAND: command, TERM: "xterm" },
    });
    const shown = done.raw.subarray(done.raw.indexOf("START") + 5, done.raw.lastIndexOf("END"));
    expect([...shown]).toEqual(Array.from({ length: 256 }, (_, byte) => byte));
  });

  test("carries binary data whole, both ways, and ends at the end of input", async () => {
    const data = randomBytes(20 * 1024 * 1024);
    const done = await ssh(["cat"], data);
    expect(done.status).toBe(0);
    expect(done.raw.equals(data)).toBe(true);
  });

  test("gives the person's environment and nothing of the agent's", async () => {
    const lines = (await ssh(["env"])).stdout.trim().split("\n");
    const names = lines.map((line) => line.split("=")[0]);
    expect(lines).toContain(`USER=${login}`);
    expect(lines).toContain(`LOGNAME=${login}`);
    expect(names).toEqual(expect.arrayContaining(["HOME", "SHELL", "PATH", "SSH_CLIENT", "SSH_CONNECTION"]));
    expect(names).not.toContain("HTTPS_PROXY");
    expect(names.filter((name) => /^(PLATFORM_(?!SESSION$)|NODE_|HTTPS?_PROXY)/.test(name ?? ""))).toEqual([]);
  });

  test("leaks no file descriptor of the agent", async () => {
    const done = await ssh(["ls -l /proc/self/fd | awk '{print $9, $11}'"]);
    const extra = done.stdout.split("\n").filter((line) => /^([3-9]|\d\d+) /.test(line) && !line.includes("/proc/"));
    expect(extra).toEqual([]);
  });

  test.runIf(root)("is the Unix user: id, groups, home and shell, and root cannot be had back", async () => {
    const expected = await output("id", [account]);
    expect((await ssh(["id"])).stdout).toBe(expected);
    expect((await ssh(["pwd; echo $SHELL"])).stdout).toBe(`/home/${account}\n/bin/bash\n`);
    expect((await ssh(["grep -E '^(Uid|Gid|Groups)' /proc/self/status"])).stdout).not.toMatch(/\b0\b/);
    expect((await ssh(["cat /etc/shadow"])).status).not.toBe(0);
  });

  test("refuses a login that the host does not know, and says so", async () => {
    const done = await user.tsh(["ssh", "no-such-user@web-1", "true"]);
    expect(done.status).not.toBe(0);
    expect(done.stderr).toMatch(/no-such-user/);
  });

  test("says that a host is not there", async () => {
    const done = await user.tsh(["ssh", `${login}@nowhere`, "true"]);
    expect(done.status).toBe(5);
    expect(done.stderr).toMatch(/nowhere/);
  });

  test("has a terminal with its size and job control, through a real one", async () => {
    const session = `pw${process.pid}`;
    const tmux = (...args: string[]) => output("tmux", ["-L", session, "-f", "/dev/null", ...args]);
    try {
      const command = `env -u TMUX TSH_HOME=${user.home} TERM=xterm ${program("tsh")} ssh ${login}@web-1`;
      await tmux("new-session", "-d", "-x", "97", "-y", "33", command);
      const screen = (wanted: RegExp): Promise<string> =>
        until(`the terminal shows ${wanted}`, async () => {
          const text = await tmux("capture-pane", "-p");
          return wanted.test(text) && text;
        });
      await screen(/[$#]\s*$/m);
      await tmux("send-keys", "stty size; tty", "Enter");
      expect(await screen(/\/dev\/pts/)).toMatch(/33 97/);
      await tmux("resize-window", "-x", "80", "-y", "20");
      await tmux("send-keys", "clear; stty size", "Enter");
      await screen(/20 80/);
      // The terminal throws away what is typed and not yet read when it sees C-c.
      await tmux("send-keys", "echo now; sleep 1000", "Enter");
      await screen(/^now$/m);
      await tmux("send-keys", "C-c", "");
      await tmux("send-keys", "echo rc=$?", "Enter");
      await screen(/rc=130/);
    } finally {
      await run("tmux", ["-L", session, "kill-server"]);
    }
  });

  test.skipIf(groupsSkip() !== undefined)("is in a control group of its user's: a fork bomb and a greedy program hurt nobody else", async () => {
    await using groups = await openControlGroups(`pt-${process.pid}`);
    const { pids, memory } = groups.folders;
    await writeFile(`${pids}/pids.max`, "2000");
    await using agent = await cluster.agent({ name: "web-2", groups: [pids, memory] });
    expect(await readFile(`${pids}/agent/cgroup.procs`, "utf8")).toContain(String(agent.service.pid));
    expect(await readFile(`${pids}/sessions/pids.max`, "utf8")).toBe("1488\n");
    // Holds the user's group, so that its limits can be made small enough for a test.
    await using held = holdSession(user, ["ssh", "-tt", `${login}@web-2`, "cat /proc/self/cgroup; exec sleep 600"]);
    const uid = (await output("id", ["-u", login])).trim();
    await held.until(new RegExp(`:pids:/pt-${process.pid}\\.service/sessions/${uid}/${agent.service.pid}-\\d+`));
    const own = `sessions/${uid}`;
    expect(Number(await readFile(`${pids}/${own}/pids.max`, "utf8"))).toBeGreaterThan(100);
    await writeFile(`${pids}/${own}/pids.max`, "60");

    const bomb = holdSession(user, ["ssh", "-tt", `${login}@web-2`, "exec bash -c 'while :; do sleep 600 & done'"]);
    await until("the bomb has gone off", async () => (await readFile(`${pids}/${own}/pids.current`, "utf8")).trim() === "60");
    expect((await user.tsh(["ssh", "root@web-2", "sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0 & done; wait; echo all'"])).stdout).toBe("all\n");
    await bomb[Symbol.asyncDispose]();
    await until("it is over", async () => Number(await readFile(`${pids}/${own}/pids.current`, "utf8")) < 10);

    await writeFile(`${memory}/${own}/memory.limit_in_bytes`, "64M");
    const greedy = await user.tsh(["ssh", `${login}@web-2`, "head -c 300M /dev/zero | tail -c 299M | wc -c; cat /proc/self/oom_score_adj"]);
    expect(await readFile(`${memory}/${own}/memory.limit_in_bytes`, "utf8")).toBe(`${64 * 1024 ** 2}\n`);
    expect(greedy.stdout, greedy.stderr).toBe("0\n0\n");
    expect((await user.tsh(["ssh", "root@web-2", "head -c 200M /dev/zero | tail -c 199M | wc -c"])).stdout).toBe(`${199 * 1024 ** 2}\n`);
    await held[Symbol.asyncDispose]();
    await until("what is empty is gone", async () => (await run("test", ["-e", `${pids}/${own}`])).status !== 0);
  });

  test("is in the audit log from start to end, with its command", async () => {
    const events = (await cluster.admin("audit", "ls", "--format=json")).trim().split("\n");
    const names = events.map((line) => (JSON.parse(line) as { event: string }).event);
    expect(names).toEqual(expect.arrayContaining(["instance.join", "user.login", "session.start", "session.end", "exec"]));
    expect(events.some((line) => line.includes("exit 127"))).toBe(true);
  });
});
