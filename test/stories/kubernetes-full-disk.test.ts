import { closeSync, openSync, writeSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { kubectl } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { output } from "../world/program.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

/** Shows for each word more than a page of the file system holds, however well it is compressed. */
const noise = "while read word; do head -c 60000 /dev/urandom | base64; echo after-$word; done";

await describeKube("an agent of Kubernetes whose disk is full", (world) => {
  const held = new AsyncDisposableStack();
  let platform: KubePlatform;
  let namespace = "";
  let data = "";
  let strict: KubeUser;
  let lenient: KubeUser;

  beforeAll(async () => {
    [platform, namespace] = await Promise.all([KubePlatform.open(world), world.namespace("real")]);
    held.use(platform);
    const access = { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources };
    await startShellPod(world, namespace, "shell");
    strict = await platform.user("sam", access, { options: { record_session: { default: "strict" } } });
    lenient = await platform.user("liz", access, { options: { record_session: { default: "best_effort" } } });
    const agent = platform.agents[0] ?? expect.fail("no agent");
    await agent.service.stop();
    data = join(agent.dir, "data");
    const kept = join(agent.dir, "kept");
    await output("mv", [data, kept]);
    await mkdir(data, { mode: 0o700 });
    await output("mount", ["-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", data]);
    held.defer(async () => void (await output("umount", ["-l", data])));
    await output("cp", ["--archive", `${kept}/.`, data]);
    agent.start();
    await agent.connected();
  });
  afterAll(async () => await held.disposeAsync());

  /** Takes all room that there is and that becomes free, until it is disposed of. */
  function fill(): AsyncDisposable {
    const path = join(data, "filler");
    const file = openSync(path, "a");
    const take = (): void => {
      try {
        for (;;) writeSync(file, Buffer.alloc(4096, 1));
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "ENOSPC" });
      }
    };
    take();
    // No event tells when a file system has room again.
    const taking = setInterval(take, 2);
    return {
      [Symbol.asyncDispose]: async () => {
        clearInterval(taking);
        closeSync(file);
        await rm(path);
      },
    };
  }

  async function openShell(user: KubeUser): Promise<Service> {
    const line = `exec ${await kubectl("1.20")} -n ${namespace} exec -it shell -- sh -c '${noise}'`;
    const shell = startService("script", ["--quiet", "--flush", "--return", "--command", line, "/dev/null"], {
      env: { ...user.env, TERM: "xterm", SHELL: "/bin/sh" },
    });
    shell.type("begun\n");
    await shows(shell, /after-begun/);
    return shell;
  }

  const shows = (shell: Service, wanted: RegExp): Promise<unknown> => until(`the terminal shows ${wanted}`, () => wanted.test(shell.printed()));
  const recordingsOf = async (name: string) => (await listRecordings(platform.cluster)).filter(({ user }) => user === name);

  test("ends what must be recorded and begins nothing, in words; what it has let happen is in the audit log once there is room", async () => {
    await using must = await openShell(strict);
    await using may = await openShell(lenient);
    const ran: string[] = [];
    const refused: string[] = [];
    // Output is gathered for a moment before it is written: what the disk has no room for then is lost, and ends the session.
    await until("what was shown is recorded", async () => ((await recordingsOf("sam"))[0]?.bytes ?? 0) > 40_000);
    {
      await using _full = fill();
      must.type("second\n");
      may.type("second\n");
      await until("the one that must be recorded has ended", () => must.exited);
      await shows(may, /after-second/);
      expect(must.printed()).toMatch(/must be recorded, and this one cannot be: this host could not write the recording: the disk is full/);
      // A page may become free for a moment, as what is sent is removed: what begins then must be recorded.
      for (let turn = 0; turn < 6; turn += 1) {
        const user = turn % 2 === 0 ? strict : lenient;
        const done = await user.kubectl("1.20", ["-n", namespace, "exec", "shell", "--", "echo", `turn-${turn}`]);
        if (done.status === 0) expect(done.stdout).toBe(`turn-${turn}\n`);
        else expect(done).toMatchObject({ stdout: "", stderr: expect.stringMatching(/this host cannot record sessions right now/) });
        (done.status === 0 ? ran : refused).push(`turn-${turn}`);
      }
      expect(refused).not.toEqual([]);
    }
    const last = await strict.kubectl("1.20", ["-n", namespace, "exec", "shell", "--", "echo", "with-room"]);
    expect(last).toMatchObject({ status: 0, stdout: "with-room\n" });
    await audited(platform.cluster, "exec", ({ command }) => String(command).includes("with-room"));
    // What happened while the disk was full was kept, and so was that it was not recorded.
    await audited(platform.cluster, "session.recording.failed", { user: "sam" });
    await audited(platform.cluster, "session.recording.failed", { user: "liz" });
    const commands = (await auditEvents(platform.cluster, "exec")).map(({ command }) => String(command));
    for (const turn of ran) expect(commands.filter((command) => command.includes(turn))).toHaveLength(1);
    for (const turn of refused) expect(commands.filter((command) => command.includes(turn))).toEqual([]);
    // What was recorded before is there, and can be played.
    const [recording] = await until("the recording has ended", async () => {
      const all = await recordingsOf("sam");
      return all.length === 1 && all[0]?.state !== "running" ? all : undefined;
    });
    expect((await strict.user.tsh(["play", recording?.sid ?? ""])).stdout).toContain("after-begun");
  });
});
