import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { hasProgram } from "../world/has-program.ts";
import { type Finished, output, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { makeAccount, type UnixAccount } from "../world/unix-account.ts";

/** A real X server without a screen, real clients of it on the host, tsh and the stock ssh between them. */
describe.skipIf(!["Xvfb", "xauth", "xdpyinfo"].every(hasProgram))("X11 forwarding", () => {
  let cluster: Cluster;
  let account: UnixAccount;
  let dir: string;
  let server: ChildProcess;
  let here: Record<string, string>;
  let viewer: User;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-x11-"));
    account = await makeAccount("xw");
    const authority = join(dir, "authority");
    await output("xauth", ["-f", authority, "-q"], { input: `add unix:0 MIT-MAGIC-COOKIE-1 ${randomBytes(16).toString("hex")}\n` });
    server = spawn("Xvfb", ["-displayfd", "3", "-auth", authority, "-nolisten", "tcp", "-noreset"], {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    const [number] = (await once(server.stdio[3] as Readable, "data")) as [Buffer];
    // The server takes any cookie of its file; clients look theirs up by the display's number.
    const cookie = /([0-9a-f]{32})/.exec(await output("xauth", ["-f", authority, "list"]))?.[1] ?? "";
    const display = number.toString().trim();
    await output("xauth", ["-f", authority, "-q"], { input: `add unix:${display} MIT-MAGIC-COOKIE-1 ${cookie}\n` });
    here = { DISPLAY: `:${display}`, XAUTHORITY: authority };
    cluster = await startCluster();
    await cluster.agent({ name: "web-1" });
    await putRole(cluster, "windows", { options: { permit_x11_forwarding: true } });
    viewer = await cluster.user("alice", { logins: account.login, roles: "access,windows" });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    server?.kill();
    await account?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const tsh = (option: string, command: string, user = viewer): Promise<Finished> =>
    user.tsh(["ssh", option, `${account.login}@web-1`, command], { env: here });

  test.for(["-X", "-Y"])("tsh ssh %s: a program of the host reaches the X server here", async (option) => {
    const done = await tsh(option, "xdpyinfo");
    expect(done, done.stderr).toMatchObject({ status: 0, stderr: "" });
    expect(done.stdout).toMatch(/name of display: +localhost:\d+\.0/);
    expect(done.stdout).toMatch(/vendor string: +The X\.Org Foundation/);
  });

  test("-X leaves out what only trusted clients may use", async () => {
    const [untrusted, trusted] = await Promise.all([tsh("-X", "xdpyinfo"), tsh("-Y", "xdpyinfo")]);
    const extensions = ({ stdout }: Finished): number => Number(/number of extensions: +(\d+)/.exec(stdout)?.[1]);
    expect(extensions(untrusted)).toBeLessThan(extensions(trusted));
  });

  test("the stock ssh -Y does the same", async () => {
    await writeFile(join(dir, "config"), (await viewer.tsh(["config"])).stdout);
    const env = { ...here, TSH_HOME: viewer.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
    const options = ["-F", join(dir, "config"), "-o", "BatchMode=yes", "-Y"];
    const done = await run("ssh", [...options, `${account.login}@web-1.test.cluster`, "xdpyinfo"], { env });
    expect(done.stdout, done.stderr).toMatch(/name of display: +localhost:\d+\.0/);
  });

  test("who does not have the session's cookie is refused here, and the real one is never on the host", async () => {
    const done = await tsh("-Y", "XAUTHORITY=/dev/null xdpyinfo; xauth list");
    expect(done.stderr).toMatch(/X11 connection rejected: wrong authentication/);
    const real = /([0-9a-f]{32})/.exec(await output("xauth", ["-f", here.XAUTHORITY ?? "", "list"]))?.[1] ?? "none";
    expect(done.stdout).toMatch(/unix:\d+ +MIT-MAGIC-COOKIE-1 +[0-9a-f]{32}/);
    expect(done.stdout).not.toContain(real);
  });

  test("two sessions have two displays, and each is gone with its session", async () => {
    // Each shell looks for the other one's file: both displays are there before either draws.
    const meet = (mine: string, other: string): string => `touch ~/${mine}; until [ -e ~/${other} ]; do sleep 0.1; done`;
    const show = (mine: string, other: string): Promise<Finished> =>
      tsh("-Y", `echo $DISPLAY; ${meet(mine, other)}; xdpyinfo >/dev/null && echo drawn`);
    const done = await Promise.all([show("first", "second"), show("second", "first")]);
    const displays = done.map(({ stdout }) => /localhost:(\d+)\.0/.exec(stdout)?.[1]);
    expect(new Set(displays).size).toBe(2);
    for (const { stdout, stderr } of done) expect(stdout, stderr).toMatch(/drawn/);
    const listening = (await output("ss", ["-Hltn"])).split("\n").map((line) => line.split(/\s+/)[3] ?? "");
    for (const display of displays) expect(listening).not.toContain(`127.0.0.1:${6000 + Number(display)}`);
  });

  test("without a role that allows it, it is reported, and the command still runs", async () => {
    const bob = await cluster.user("bob", { logins: account.login });
    const done = await tsh("-Y", 'echo "[$DISPLAY]"', bob);
    expect(done).toMatchObject({ status: 0, stdout: "[]\n" });
    expect(done.stderr).toMatch(/warning: web-1 refused X11 forwarding: no role allows it/);
  });

  test("the audit log tells of both", async () => {
    const events = (await cluster.admin("audit", "ls", "--format=json")).trim().split("\n");
    const x11 = events.map((line) => JSON.parse(line) as { event: string; code: string; user: string }).filter(({ event }) => event === "x11");
    expect(x11).toEqual(expect.arrayContaining([expect.objectContaining({ code: "T3008I", user: "alice", login: account.login })]));
    expect(x11).toEqual(expect.arrayContaining([expect.objectContaining({ code: "T3008E", user: "bob" })]));
  });
});
