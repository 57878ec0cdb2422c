import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import { freePorts } from "../world/free-port.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { type KubeWorld, kubeWorld } from "../world/kubernetes/kube-world.ts";
import { type KubectlVersion, kubectl, kubectlVersions } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { run } from "../world/program.ts";
import { rounds } from "../world/rounds.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const opened = await ifPossible(() => kubeWorld());
const reason = opened instanceof NotHere ? ` (skipped: ${opened.message})` : "";
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

describe.skipIf(opened instanceof NotHere)(`streams into pods, with stock kubectl${reason}`, () => {
  const world = opened as KubeWorld;
  let platform: KubePlatform;
  let namespace: string;
  let user: KubeUser;

  beforeAll(async () => {
    platform = await KubePlatform.open(world);
    namespace = await world.namespace("real");
    await Promise.all([
      startShellPod(world, namespace, "shell"),
      platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources }).then((made) => (user = made)),
    ]);
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  const inPod = (version: KubectlVersion, args: readonly string[], options = {}) => user.kubectl(version, ["-n", namespace, ...args], options);
  /** A kubectl that runs on. */
  const started = async (version: KubectlVersion, args: readonly string[]): Promise<Service> =>
    startService(await kubectl(version), ["-n", namespace, ...args], { env: user.env });
  /** In a terminal of 100 columns and 40 rows. */
  const inTerminal = async (version: KubectlVersion, args: string): Promise<Service> => {
    const line = `stty cols 100 rows 40; exec ${await kubectl(version)} -n ${namespace} ${args}`;
    return startService("script", ["--quiet", "--flush", "--return", "--command", line, "/dev/null"], {
      env: { ...user.env, TERM: "xterm", SHELL: "/bin/sh" },
    });
  };
  /** Long-running requests that the API server holds for this sub-resource. */
  async function held(subresource: string): Promise<number> {
    const { body } = await world.api.ask("GET", "/metrics");
    const lines = (body.message ?? "")
      .split("\n")
      .filter((line) => line.startsWith("apiserver_longrunning_gauge") && line.includes(`subresource="${subresource}"`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  describe.each(kubectlVersions)("kubectl %s", (version) => {
    test("exec: both outputs apart, and the exit code", async () => {
      const done = await inPod(version, ["exec", "shell", "--", "sh", "-c", "echo out; echo err >&2; exit 42"]);
      expect(done).toMatchObject({ status: 42, stdout: "out\n" });
      expect(done.stderr).toMatch(/^err\n/);
    });

    test("exec: a program that is not there", async () => {
      const direct = await world.kubectl(version, ["-n", namespace, "exec", "shell", "--", "nowhere"]);
      const through = await inPod(version, ["exec", "shell", "--", "nowhere"]);
      expect(through.status).toBe(direct.status);
      expect(through.stderr.replace(/[0-9a-f]{64}/g, "ID")).toBe(direct.stderr.replace(/[0-9a-f]{64}/g, "ID"));
    });

    test("exec: what goes in comes out, and its end is noticed", async () => {
      const input = randomBytes(rounds(100, 20) * 1024 * 1024);
      const done = await inPod(version, ["exec", "-i", "shell", "--", "sh", "-c", "tee /tmp/copy"], { input, limitMs: 120_000 });
      expect(done.status).toBe(0);
      expect(sha256(done.raw)).toBe(sha256(input));
      const sum = await inPod(version, ["exec", "shell", "--", "sha256sum", "/tmp/copy"]);
      expect(sum.stdout.slice(0, 64)).toBe(sha256(input));
    });

    test("exec -it: a terminal of the user's size, whose signals arrive", async () => {
      await using shell = await inTerminal(version, "exec -it shell -- sh");
      await until("a prompt", () => shell.printed().includes("#"));
      shell.type("stty size; tty\n");
      await until("the size", () => /40 100[\s\S]*\/dev\/pts/.test(shell.printed()));
      shell.type("sleep 1000 || echo sto''pped\n");
      await until("it runs", async () => (await inPod("1.20", ["exec", "shell", "--", "pgrep", "-f", "sleep 1000"])).status === 0);
      shell.type("\u0003");
      shell.type("echo af''ter $?\n");
      await until("the program has ended by ^C", () => /after 130/.test(shell.printed()));
      shell.type("exit 7\n");
      await until("the shell has ended", () => shell.exited);
    });

    test("attach: the output of the container", async () => {
      const name = `ticks-${version.replace(".", "-")}`;
      await startShellPod(world, namespace, name, ["sh", "-c", "while read line; do echo got $line; done"]);
      await using attached = await started(version, ["attach", "-i", name]);
      attached.type("one\n");
      await until("the container answers", () => attached.printed().includes("got one"));
      await world.api.ask("DELETE", `/api/v1/namespaces/${namespace}/pods/${name}`);
      await until("it ends with the container", () => attached.exited, 20_000);
    });

    test("cp: both ways, byte by byte", async () => {
      const [here, back] = [join(user.user.home, `in-${version}`), join(user.user.home, `out-${version}`)];
      const bytes = randomBytes(5 * 1024 * 1024 + 3);
      await writeFile(here, bytes);
      expect(await inPod(version, ["cp", here, "shell:/tmp/file"])).toMatchObject({ status: 0 });
      expect(await inPod(version, ["cp", "shell:/tmp/file", back])).toMatchObject({ status: 0 });
      expect(sha256(await readFile(back))).toBe(sha256(bytes));
    });

    test("logs -f: lines as they come", async () => {
      const name = `log-${version.replace(".", "-")}`;
      await startShellPod(world, namespace, name, ["sh", "-c", "while read line; do echo line $line; done"]);
      await using following = await started(version, ["logs", "-f", name]);
      await using attached = await started("1.20", ["attach", "-i", name]);
      for (const word of ["first", "second"]) {
        attached.type(`${word}\n`);
        await until(`${word} is shown`, () => following.printed().includes(`line ${word}`));
      }
    });

    test("port-forward: many connections side by side; both ends close with the other", async () => {
      const [port = 0] = await freePorts(1);
      const before = await held("portforward");
      await using forwarding = await started(version, ["port-forward", "shell", `${port}:8080`]);
      await until("it listens", () => forwarding.printed().includes("Forwarding from"));
      const count = rounds(100, 30);
      const all = await Promise.all(Array.from({ length: count }, () => run("curl", ["-sf", "--max-time", "30", `http://127.0.0.1:${port}/hello`])));
      expect(all.map(({ stdout }) => stdout)).toEqual(Array.from({ length: count }, () => "hello\n"));
      await forwarding.kill();
      await until("the API server holds no more of it", async () => (await held("portforward")) <= before, 5_000);
    });
  });

  test("many execs side by side, each with its own output", async () => {
    const count = rounds(64, 16);
    const all = await Promise.all(Array.from({ length: count }, (_, at) => inPod("1.20", ["exec", "shell", "--", "echo", `number ${at}`])));
    expect(all.map(({ stdout }) => stdout)).toEqual(Array.from({ length: count }, (_, at) => `number ${at}\n`));
  });

  test("a forwarded connection ends with its pod", async () => {
    await startShellPod(world, namespace, "dying", ["nc", "-lk", "-p", "8080", "-e", "cat"]);
    const [port = 0] = await freePorts(1);
    await using forwarding = await started("1.36", ["port-forward", "dying", `${port}:8080`]);
    await until("it listens", () => forwarding.printed().includes("Forwarding from"));
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("hello\n");
    await once(socket, "data");
    const closed = once(socket, "close");
    await world.api.must("DELETE", `/api/v1/namespaces/${namespace}/pods/dying`);
    await until("the pod is gone", async () => (await world.api.ask("GET", `/api/v1/namespaces/${namespace}/pods/dying`)).status === 404);
    await Promise.race([closed, new Promise((_, reject) => setTimeout(() => reject(new Error("the connection is still there")), 5_000))]);
  });

  test("the client's end ends the request at the API server", async () => {
    const before = await held("exec");
    const running = await started("1.32", ["exec", "shell", "--", "sh", "-c", "echo begun; sleep 600"]);
    await until("it runs", () => running.printed().includes("begun"));
    expect(await held("exec")).toBe(before + 1);
    await running.kill();
    await until("the API server holds no more of it", async () => (await held("exec")) <= before, 5_000);
  });

  test("events of a session name the pod, and what ran in it", async () => {
    await inPod("1.20", ["exec", "shell", "--", "sh", "-c", "exit 3"]);
    const event = await audited(platform.cluster, "exec", (one) => one.kubernetes_pod_name === "shell" && JSON.stringify(one).includes("exit 3"));
    expect(event).toMatchObject({
      ...{ user: "ada", kubernetes_cluster: platform.kube, kubernetes_pod_namespace: namespace, kubernetes_container_name: "main" },
      ...{ kubernetes_container_image: "registry.test/busybox:1", kubernetes_node_name: "real" },
    });
    expect(String(event.exit_code ?? event.exitCode)).toBe("3");
  });

  test("a terminal is recorded, and plays as it was", async () => {
    const before = new Set((await listRecordings(platform.cluster)).map(({ sid }) => sid));
    {
      await using shell = await inTerminal("1.36", "exec -it shell -- sh");
      await until("a prompt", () => shell.printed().includes("#"));
      shell.type("echo recor''ded; exit\n");
      await until("the shell has ended", () => shell.exited);
      expect(shell.printed()).toContain("recorded");
    }
    const recording = await until("it is recorded", async () =>
      (await listRecordings(platform.cluster)).find(({ sid, state }) => !before.has(sid) && state !== "live"),
    );
    const { stdout } = await platform.cluster.tctl(["recordings", "play", recording.sid, "--format=text"]);
    const shown = stdout === "" ? (await user.user.tsh(["play", recording.sid, "--format=text"])).stdout : stdout;
    expect(shown).toContain("recorded");
    const started = await audited(platform.cluster, "session.start", { sid: recording.sid });
    expect(started).toMatchObject({ user: "ada", kubernetes_pod_name: "shell", kubernetes_pod_namespace: namespace });
    await audited(platform.cluster, "session.end", { sid: recording.sid });
  });

  test("a lock ends exec, watch and port-forward within seconds, with the reason", async () => {
    const bob = await platform.user("bob", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
    const [port = 0] = await freePorts(1);
    const commands = [
      ["exec", "shell", "--", "sh", "-c", "echo begun; sleep 600"],
      ["get", "pods", "-w"],
      ["port-forward", "shell", `${port}:8080`],
    ];
    const path = await kubectl("1.36");
    const all = commands.map((args) => startService(path, ["-n", namespace, ...args], { env: bob.env }));
    await until("all run", () => all.every((one) => /begun|shell|Forwarding/.test(one.printed())));
    const from = performance.now();
    await platform.cluster.admin("lock", "--user=bob", "--message=laptop stolen", "--ttl=1h");
    const [exec, watch] = all;
    await until("exec and watch have ended", () => exec?.exited === true && watch?.exited === true, 10_000);
    expect(performance.now() - from).toBeLessThan(6_000);
    const refused = await run("curl", ["-sf", "--max-time", "5", `http://127.0.0.1:${port}/hello`]);
    expect(refused.status).not.toBe(0);
    for (const one of all) await one.kill();
    const denied = await bob.kubectl("1.32", ["get", "pods", "-n", namespace]);
    expect(denied.status).toBe(1);
    expect((await auditEvents(platform.cluster, "kube.request")).some(({ user: who }) => who === "bob")).toBe(true);
  });
});
