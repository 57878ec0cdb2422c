import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { type HeldSession, holdSession } from "../world/held-session.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { type ListedSession, listSessions, ownSession } from "../world/owned-session.ts";
import { program, run, start } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { unpackClient } from "../world/unpacked-client.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

const told = (session: HeldSession, words: string): Promise<boolean> => until(`it gets: ${words}`, () => session.told().includes(words));

describe("joining a session", () => {
  let cluster: Cluster;
  let agent: Agent;
  let alice: User;
  let bob: User;
  let carol: User;
  let mallory: User;
  beforeAll(async () => {
    cluster = await startCluster();
    await putRole(cluster, "watcher", { allow: { join_sessions: [{ name: "w", kinds: ["ssh"], roles: ["access"], modes: ["observer"] }] } });
    await putRole(cluster, "helper", { allow: { join_sessions: [{ name: "h", kinds: ["ssh"], roles: ["*"], modes: ["*"] }] } });
    await putRole(cluster, "nothing", {});
    agent = await cluster.agent({ name: "web-1" });
    alice = await cluster.user("alice", { logins: login });
    bob = await cluster.user("bob", { roles: "watcher", logins: "nobody-here" });
    carol = await cluster.user("carol", { roles: "helper", logins: "nobody-here" });
    mallory = await cluster.user("mallory", { roles: "nothing" });
  });
  afterAll(async () => await cluster?.[Symbol.asyncDispose]());

  test("an observer sees past and new output, and its input is ignored", async () => {
    const { session, sid } = await ownSession(alice, "watched");
    await using owner = session;
    await using watching = holdSession(bob, ["join", sid]);
    await watching.until("watched-begins");
    await told(owner, "user bob joined as observer");
    expect(watching.told()).toContain(`you joined the session of alice, ${login}@web-1, as observer`);
    watching.type("from bob\n");
    owner.type("from alice\n");
    await watching.until(/from alice\r\n[\s\S]*from alice\r\n/);
    expect(owner.shown()).not.toContain("from bob");
    owner.type("\u0004");
    await owner.ended;
    expect(await watching.ended).toBe(0);
    expect(watching.told()).toContain("the session of alice has ended");
    await audited(cluster, "session.join", { sid, user: "bob", owner: "alice", mode: "observer", code: "T2001I" });
    await audited(cluster, "session.leave", { sid, user: "bob", reason: "the session has ended", code: "T2003I" });
    await audited(cluster, "session.end", { sid, participants: ["alice", "bob"] });
    await until("it is listed no more", async () => !(await listSessions(alice)).some((one) => one.sid === sid));
  });

  test("the client for systems with Node.js does the same with nothing compiled", async () => {
    const { file, files, client } = await unpackClient(cluster.dir);
    const wanted = ["LICENSE", "README.md", "bin/tctl", "bin/tsh", "lib/client.cjs", "package.json"];
    expect(files.toSorted()).toEqual(wanted.map((name) => `package/${name}`).toSorted());
    const env = { TSH_HOME: join(cluster.dir, "home-client"), PLATFORM_DATA_DIR: join(cluster.dir, "nowhere") };
    const tsh = (args: readonly string[], input = "") => run(process.execPath, [client("tsh"), ...args], { env, input });

    const facts = ["login", `--proxy=${cluster.proxy}`, "--user=alice", `--ca-pin=${await cluster.pin()}`];
    expect(await tsh(facts, `${alice.password}\n${await alice.code()}\n`)).toMatchObject({ status: 0, stdout: expect.stringContaining("alice") });
    expect((await tsh(["ls"])).stdout).toContain("web-1");
    expect(await tsh(["ssh", `${login}@web-1`, "cat; exit 7"], "through")).toMatchObject({ status: 7, stdout: "through" });
    const [there, back] = [join(cluster.dir, "there"), join(cluster.dir, "back")];
    expect(await tsh(["scp", file, `${login}@web-1:${there}`])).toMatchObject({ status: 0 });
    expect(await tsh(["scp", `${login}@web-1:${there}`, back])).toMatchObject({ status: 0 });
    expect((await readFile(back)).equals(await readFile(file))).toBe(true);
    // Stock ssh runs this client.
    expect((await tsh(["config"])).stdout).toContain(client("tsh"));
    const admin = await run(process.execPath, [client("tctl"), "status"], { env });
    expect(admin.stdout).toContain(`through the proxy ${cluster.proxy}, as alice`);

    const { session, sid } = await ownSession(alice, "client");
    await using owner = session;
    const watching = tsh(["join", sid]);
    await told(owner, "user alice joined as observer");
    owner.type("\u0004");
    expect(await watching).toMatchObject({ status: 0, stdout: expect.stringContaining("client-begins") });
    await until("it is played", async () => (await tsh(["play", "--format=text", sid])).stdout.includes("client-begins") || undefined);
    const old = `require("tls").setDefaultCACertificates = undefined; require(${JSON.stringify(client("tsh"))})`;
    const stderr = expect.stringContaining("tsh needs Node.js 22.19 or newer");
    expect(await run(process.execPath, ["-e", old])).toMatchObject({ status: 2, stderr });
  });

  test("a peer types too, all are notified of joins and leaves, and the recording has the output", async () => {
    const { session, sid } = await ownSession(alice, "shared");
    await using owner = session;
    await using watching = holdSession(bob, ["join", sid]);
    await watching.until("shared-begins");
    {
      await using helping = holdSession(carol, ["join", "--mode=peer", sid]);
      await told(watching, "user carol joined as peer");
      await until("both are listed", async () => (await listSessions(alice)).find((one) => one.sid === sid)?.participants.length === 2);
      helping.type("from carol\n");
      await owner.until(/from carol\r\n[\s\S]*from carol\r\n/);
      await watching.until(/from carol\r\n[\s\S]*from carol\r\n/);
    }
    await told(owner, "user carol left");
    await told(watching, "user carol left");
    owner.type("still here\n");
    await watching.until(/still here\r\n[\s\S]*still here\r\n/);
    owner.type("\u0004");
    expect(await watching.ended).toBe(0);
    await until("the recording is complete", async () => (await listRecordings(cluster)).some((one) => one.sid === sid && one.state === "complete"));
    const { stdout } = await alice.tsh(["play", "--format=text", sid]);
    expect(stdout).toMatch(/user carol joined as peer[\s\S]*from carol\s+from carol[\s\S]*user carol left/);
  });

  test("one's own session is joined as a peer without any role", async () => {
    const { session, sid } = await ownSession(alice, "own");
    await using owner = session;
    expect((await listSessions(alice)).find((one) => one.sid === sid)?.modes).toEqual(["observer", "peer"]);
    await using second = holdSession(alice, ["join", "--mode=peer", sid]);
    await second.until("own-begins");
    second.type("from there\n");
    await owner.until(/from there\r\n[\s\S]*from there\r\n/);
  });

  test("a mode that no role allows is refused with the reason, and audited", async () => {
    const { session, sid } = await ownSession(alice, "refused");
    await using _owner = session;
    expect((await listSessions(bob)).find((one) => one.sid === sid)?.modes).toEqual(["observer"]);
    const done = await bob.tsh(["join", "--mode=peer", sid]);
    expect(done.status).not.toBe(0);
    const reason = "access denied: bob may not join sessions of alice on web-1 as peer: no role's join_sessions allows it";
    expect(done.stderr).toContain(reason);
    await audited(cluster, "auth", { sid, user: "bob", error: reason });
    expect(session.told()).not.toContain("bob");
  });

  test("a session that one may not see is refused in the words for one that is not there", async () => {
    const { session, sid } = await ownSession(alice, "unseen");
    await using _owner = session;
    expect(await listSessions(mallory)).toEqual([]);
    const words = async (id: string): Promise<string> => (await mallory.tsh(["join", id])).stderr.replaceAll(id, "…");
    expect(await words(sid)).toBe(await words("11111111-1111-4111-8111-111111111111"));
    expect(await words(sid)).toContain("there is no running session");
    const all = JSON.parse(await cluster.admin("sessions", "ls", "--format=json")) as ListedSession[];
    expect(all.map((one) => one.sid)).toContain(sid);
  });

  test("nobody can log in under the name for joining", async () => {
    const { session } = await ownSession(alice, "name");
    await using _owner = session;
    const done = await carol.tsh(["ssh", "-l", "-join-", "web-1", "id"]);
    expect(done.status).not.toBe(0);
    expect(done.stdout).toBe("");
  });

  test("at a terminal an observer leaves with Ctrl-C, which has no other effect; a peer with ~. and not with Ctrl-C", async () => {
    const { session, sid } = await ownSession(alice, "keys", "trap 'echo was-interrupted' INT; while :; do read -r line && echo got-$line; done");
    await using owner = session;
    const atTerminal = (user: User, ...args: string[]): ChildProcess =>
      start("script", ["-qec", [program("tsh"), "join", ...args, sid].join(" "), "/dev/null"], { env: { TSH_HOME: user.home, TERM: "dumb" } });
    const observer = atTerminal(bob);
    await told(owner, "user bob joined as observer");
    observer.stdin?.write("\u0003");
    expect((await once(observer, "close"))[0]).toBe(255);
    await told(owner, "user bob left");
    expect(owner.shown()).not.toContain("was-interrupted");
    const peer = atTerminal(carol, "--mode=peer");
    await told(owner, "user carol joined as peer");
    peer.stdin?.write("\u0003");
    await owner.until("was-interrupted");
    peer.stdin?.write("word\r");
    await owner.until("got-word");
    peer.stdin?.write("~.");
    expect((await once(peer, "close"))[0]).toBe(255);
    await told(owner, "user carol left");
  });

  test("a lock on one participant ends only that one", async () => {
    const dave = await cluster.user("dave", { roles: "helper", logins: "nobody-here" });
    const { session, sid } = await ownSession(alice, "locked");
    await using owner = session;
    await using watching = holdSession(bob, ["join", sid]);
    await using locked = holdSession(dave, ["join", sid]);
    await locked.until("locked-begins");
    await watching.until("locked-begins");
    await cluster.admin("lock", "--user=dave", "--message=not today");
    expect(await locked.ended).not.toBe(0);
    expect(locked.told()).toContain("not today");
    await told(owner, "user dave left");
    owner.type("goes on\n");
    await watching.until(/goes on\r\n[\s\S]*goes on\r\n/);
    await audited(cluster, "client.disconnect", { sid, user: "dave" });
  });

  test("a participant who does not read is disconnected with the reason, and the owner never waits", async () => {
    const { session, sid } = await ownSession(alice, "slow", "read go; head -c 12000000 /dev/zero | tr '\\0' x; echo; echo all-shown; cat");
    await using owner = session;
    const slow: ChildProcess = start(program("tsh"), ["join", sid], { env: { TSH_HOME: bob.home } });
    await told(owner, "user bob joined as observer");
    slow.kill("SIGSTOP");
    owner.type("\n");
    await owner.until("all-shown");
    await told(owner, "user bob left");
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    slow.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
    slow.stderr?.on("data", (chunk: Buffer) => err.push(chunk));
    slow.kill("SIGCONT");
    const [status] = (await once(slow, "close")) as [number];
    expect(status).not.toBe(0);
    expect(Buffer.concat(err).toString()).toContain("disconnected: your connection is too slow for this session's output");
    expect(Buffer.concat(out).length).toBeLessThan(12_000_000);
    await audited(cluster, "session.leave", { sid, user: "bob" });
  });

  test("when the owner's connection ends, so does the session, and all are notified", async () => {
    const { session, sid } = await ownSession(alice, "gone");
    const watching = await Promise.all(
      [bob, bob, carol].map(async (user) => {
        const one = holdSession(user, ["join", sid]);
        await one.until("gone-begins");
        return one;
      }),
    );
    await session[Symbol.asyncDispose]();
    for (const one of watching) {
      expect(await one.ended).toBe(0);
      expect(one.told()).toContain("the session of alice has ended");
    }
  });

  test("a session whose agent is killed is no longer listed, and participants are notified", async () => {
    const { session, sid } = await ownSession(alice, "killed");
    await using _owner = session;
    await using watching = holdSession(bob, ["join", sid]);
    await watching.until("killed-begins");
    await agent.service.kill();
    expect(await watching.ended).not.toBe(0);
    expect(watching.told()).toContain("was lost");
    await until("it is listed no more", async () => !(await listSessions(alice)).some((one) => one.sid === sid));
    agent.start();
    await agent.connected();
  });
});
