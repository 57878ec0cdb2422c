import { once } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { output, program, run, start } from "../world/program.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

/** What terminals show is recorded at the host, kept at the auth service, and played back to who may see it. */
describe("a recorded session", () => {
  let cluster: Cluster;
  let agent: Agent;
  let alice: User;
  beforeAll(async () => {
    cluster = await startCluster();
    agent = await cluster.agent({ name: "web-1" });
    alice = await cluster.user("alice", { logins: login });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  const listed = () => listRecordings(cluster);
  /** Runs a command at a terminal, and waits until the auth service has its recording. */
  const recorded = async (command: string, typed?: { prompt: string; answer: string }): Promise<{ shown: Buffer; sid: string }> => {
    const before = new Set((await listed()).map(({ sid }) => sid));
    const child = start(program("tsh"), ["ssh", "-tt", `${login}@web-1`, command], { env: { TSH_HOME: alice.home } });
    const chunks: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (typed !== undefined && Buffer.concat(chunks).toString().endsWith(typed.prompt)) child.stdin?.write(typed.answer);
    });
    await once(child, "close");
    const one = await until("the recording is complete", async () =>
      (await listed()).find(({ sid, state }) => !before.has(sid) && state === "complete"),
    );
    return { shown: Buffer.concat(chunks), sid: one.sid };
  };

  test("is played back byte for byte, without input that was not echoed", async () => {
    const script =
      "read -rsp ready: secret; echo got $(printf %s $secret | wc -c); seq 20000; printf 'caf\\303\\251 \\377\\376 \\033[31mred\\033[0m\\n'; stty size";
    const { shown, sid } = await recorded(script, { prompt: "ready:", answer: "hunter2hunter2\n" });
    expect(shown.includes("got 14")).toBe(true);
    const played = await alice.tsh(["play", sid]);
    expect(played.status).toBe(0);
    expect(played.raw.equals(shown)).toBe(true);
    const file = join(cluster.dir, "control", "auth", "recordings", `${sid}.cast.gz`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const text = await output("zcat", [file]);
    expect(text.includes("hunter2")).toBe(false);
    expect(JSON.parse(text.split("\n")[0] ?? "")).toMatchObject({ version: 2, width: 80, height: 24, platform: { user: "alice", login } });
    expect(await readdir(join(agent.dir, "data", "agent", "recordings"))).toEqual([]);
  });

  test("is exported as asciicast and as text, and played from a file", async () => {
    const { shown, sid } = await recorded("printf 'one\\rtwo\\n\\033[1mbold\\033[0m\\n'");
    const cast = await alice.tsh(["play", "--format=asciicast", sid]);
    const file = join(cluster.dir, "session.cast");
    await writeFile(file, cast.raw);
    expect((await alice.tsh(["play", file])).raw.equals(shown)).toBe(true);
    expect((await alice.tsh(["play", "--format=text", sid])).stdout).toBe("two\nbold\n");
    const lines = cast.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as [number, string, string]);
    expect(lines.slice(1).every(([time, kind]) => time >= 0 && kind === "o")).toBe(true);
  });

  test("is not made of a command without a terminal", async () => {
    const before = await listed();
    expect((await alice.tsh(["ssh", `${login}@web-1`, "echo plain"])).stdout).toBe("plain\n");
    expect(await listed()).toHaveLength(before.length);
  });

  test("is for its own user and for users who may read sessions; each view and each upload is audited", async () => {
    const { sid } = await recorded("echo mine");
    const bob = await cluster.user("bob", { logins: login });
    const eve = await cluster.user("eve", { roles: "auditor" });
    const refused = await bob.tsh(["play", sid]);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toMatch(/access denied/);
    expect((await eve.tsh(["play", sid])).stdout).toBe("mine\r\n");
    const seenBy = async (user: User): Promise<string> =>
      await output(program("tctl"), ["recordings", "ls", `--proxy=${cluster.proxy}`], {
        env: { TSH_HOME: user.home, PLATFORM_DATA_DIR: "/nonexistent" },
      });
    expect(await seenBy(bob)).not.toContain(sid);
    expect(await seenBy(alice)).toContain(sid);
    expect(await seenBy(eve)).toContain(sid);
    const events = (await cluster.admin("audit", "ls", "--format=json"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events).toContainEqual(expect.objectContaining({ event: "session.recording.access", code: "T2012I", user: "eve", name: "alice", sid }));
    expect(events).toContainEqual(expect.objectContaining({ event: "session.upload", code: "T2005I", user: "alice", sid, interrupted: false }));
  });

  test("follows a real terminal, and is played on one with keys", async () => {
    const socket = `rec${process.pid}`;
    const tmux = (...args: string[]) => output("tmux", ["-L", socket, "-f", "/dev/null", ...args]);
    const screen = (wanted: RegExp): Promise<string> =>
      until(`the terminal shows ${wanted}`, async () => {
        const text = await tmux("capture-pane", "-p");
        return wanted.test(text) && text;
      });
    const tsh = `env -u TMUX TSH_HOME=${alice.home} TERM=xterm ${program("tsh")}`;
    const before = new Set((await listed()).map(({ sid }) => sid));
    try {
      await tmux("new-session", "-d", "-x", "90", "-y", "30", "sh");
      await tmux("send-keys", `${tsh} ssh -t ${login}@web-1 sh`, "Enter");
      await screen(/^[#$] *$/m);
      await tmux("send-keys", "echo first-$((1+1))", "Enter");
      await screen(/^first-2$/m);
      await tmux("resize-window", "-x", "100", "-y", "20");
      await tmux("send-keys", "stty size", "Enter");
      await screen(/^20 100$/m);
      // A gap that nobody waits for at the playback: a key skips it.
      await tmux("send-keys", "sleep 12; echo last-$((2+2)); exit", "Enter");
      await screen(/^last-4$/m);
      const { sid } = await until("the recording is complete", async () =>
        (await listed()).find((one) => !before.has(one.sid) && one.state === "complete"),
      );
      const cast = (await alice.tsh(["play", "--format=asciicast", sid])).stdout;
      expect(cast).toMatch(/,"r","100x20"\]/);
      await tmux("send-keys", `clear; ${tsh} play ${sid}; echo over-$((3+3))`, "Enter");
      await screen(/first-2/);
      await tmux("send-keys", "Right", "Right");
      await screen(/over-6/);
      expect(await tmux("capture-pane", "-p")).toMatch(/last-4/);
    } finally {
      await run("tmux", ["-L", socket, "kill-server"]);
    }
  });

  test("that is damaged shows its intact parts, and reports the damage", async () => {
    const { sid } = await recorded("echo start; seq 100000; echo finish");
    const file = join(cluster.dir, "damaged.cast.gz");
    const bytes = await readFile(join(cluster.dir, "control", "auth", "recordings", `${sid}.cast.gz`));
    const middle = Math.floor(bytes.length / 2);
    bytes.fill(0, middle, middle + 100);
    await writeFile(file, bytes);
    const played = await alice.tsh(["play", file]);
    expect(played.status).toBe(0);
    expect(played.stderr).toMatch(/damaged/);
    expect(played.stdout).toMatch(/^start\r\n/);
    expect(played.stdout).toMatch(/finish\r\n$/);
  });
});
