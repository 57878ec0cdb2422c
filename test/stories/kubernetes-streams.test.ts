import { createHash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../world/free-port.ts";
import { busyboxImage } from "../world/kubernetes/busybox-image.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { heldStreams } from "../world/kubernetes/held-streams.ts";
import { askKube } from "../world/kubernetes/kube-client.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { type KubectlVersion, kubectl, kubectlVersions } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { findPlayed } from "../world/list-recordings.ts";
import { type Finished, run } from "../world/program.ts";
import { type Processes, processes } from "../world/reload.ts";
import { rounds, rows } from "../world/rounds.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

await describeKube("streams into pods, with stock kubectl", (world) => {
  let platform: KubePlatform;
  let namespace: string;
  let user: KubeUser;
  let runtime: string;
  let [agent, control]: Processes[] = [];

  beforeAll(async () => {
    runtime = await mkdtemp(join(tmpdir(), "platform-kube-streams-"));
    const [ofAgent, ofControl] = [join(runtime, "agent"), join(runtime, "control")];
    await Promise.all([ofAgent, ofControl].map((path) => mkdir(path)));
    platform = await KubePlatform.open(world, { env: { RUNTIME_DIRECTORY: ofControl }, agentEnv: { RUNTIME_DIRECTORY: ofAgent } });
    agent = await processes(join(platform.agents[0]?.dir ?? "", "agent.pid"), ofAgent);
    control = await processes(join(platform.cluster.dir, "control.pid"), ofControl);
    namespace = await world.namespace("real");
    await Promise.all([
      startShellPod(world, namespace, "shell"),
      platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources }).then((made) => (user = made)),
    ]);
  });
  afterAll(async () => {
    for (const one of [agent, control, platform]) await one?.[Symbol.asyncDispose]();
    await rm(runtime, { recursive: true, force: true });
  });

  const inPod = (version: KubectlVersion, args: readonly string[], options = {}) => user.kubectl(version, ["-n", namespace, ...args], options);
  /** A kubectl that runs on. */
  const started = async (version: KubectlVersion, args: readonly string[]): Promise<Service> =>
    startService(await kubectl(version), ["-n", namespace, ...args], { env: user.env });
  /** A line of shell in a terminal. */
  const inTerminal = (line: string, env: Readonly<Record<string, string>> = {}): Service =>
    startService("script", ["--quiet", "--flush", "--return", "--command", line, "/dev/null"], {
      env: { ...user.env, TERM: "xterm", SHELL: "/bin/sh", ...env },
    });
  const shows = (one: Service, wanted: string): Promise<boolean> =>
    until(`it shows ${wanted}`, () => {
      if (one.printed().includes(wanted)) return true;
      throw new Error(`${one.exited ? "it has ended" : "so far"}: ${one.printed()}`);
    });

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

    test("logs -f: lines as they come; logs and describe pod print the same as without us", async () => {
      const name = `log-${version.replace(".", "-")}`;
      await startShellPod(world, namespace, name, ["sh", "-c", "while read line; do echo line $line; done"]);
      await using following = await started(version, ["logs", "-f", name]);
      await using attached = await started("1.20", ["attach", "-i", name]);
      for (const word of ["first", "second"]) {
        attached.type(`${word}\n`);
        await until(`${word} is shown`, () => following.printed().includes(`line ${word}`));
      }
      const plain = ({ status, stdout, stderr }: Finished): object => ({ status, stderr, stdout: stdout.replace(/\b\d+(s|m)(\d+s)?\b/g, "AGE") });
      for (const args of [
        ["logs", "--timestamps", name],
        ["logs", `--selector=app=${name}`, "--prefix"],
        ["describe", "pod", name],
      ]) {
        const [direct, through] = await Promise.all([world.kubectl(version, ["-n", namespace, ...args]), inPod(version, args)]);
        expect(plain(through), args.join(" ")).toEqual(plain(direct));
      }
    });

    test("port-forward: many connections side by side; both ends close with the other", async () => {
      const [port = 0] = await freePorts(1);
      await using forwarding = await started(version, ["port-forward", "shell", `${port}:8080`]);
      await until("it listens", () => forwarding.printed().includes("Forwarding from"));
      const count = rounds(100, 30);
      const all = await Promise.all(Array.from({ length: count }, () => run("curl", ["-sf", "--max-time", "30", `http://127.0.0.1:${port}/hello`])));
      expect(all.map(({ stdout }) => stdout)).toEqual(Array.from({ length: count }, () => "hello\n"));
      await forwarding.kill();
      await until(
        "the API server holds no more of it",
        async () => (await heldStreams(world, { namespace, subresource: "portforward" })) === 0,
        5_000,
      );
    });
  });

  test("many execs side by side, each with its own output", async () => {
    const count = rounds(64, 16);
    const all = await Promise.all(Array.from({ length: count }, (_, at) => inPod("1.20", ["exec", "shell", "--", "echo", `number ${at}`])));
    expect(all.map(({ stdout }) => stdout)).toEqual(Array.from({ length: count }, (_, at) => `number ${at}\n`));
  });

  test("pods, services and nodes answer through the API server's proxy to a role with this verb alone", async () => {
    const rules = [{ kind: "*", namespace: "*", name: "*", verbs: ["proxy"] }];
    const visitor = await platform.user("vic", { kubernetes_groups: ["system:masters"], kubernetes_resources: rules });
    const [entrance, inside] = [await visitor.entrance(), `/api/v1/namespaces/${namespace}`];
    const spec = { selector: { app: "shell" }, ports: [{ port: 80, targetPort: 8080 }] };
    await world.api.must("POST", `${inside}/services`, { metadata: { name: "web" }, spec });
    await until("the service answers", async () => (await askKube(entrance, `${inside}/services/web/proxy/hello`)).text === "hello\n");
    expect(await askKube(entrance, `${inside}/pods/shell:8080/proxy/hello`)).toMatchObject({ status: 200, text: "hello\n" });
    expect(await askKube(entrance, "/api/v1/nodes/real/proxy/healthz")).toMatchObject({ status: 200, text: "ok" });
    expect(await askKube(entrance, `${inside}/pods/shell`)).toMatchObject({ status: 403 });
  });

  test("tsh kube exec and tsh kubectl are kubectl: input, both outputs, the exit status, and a terminal", async () => {
    const env = { ...user.env, PATH: `${dirname(await kubectl("1.36"))}:${process.env.PATH}` };
    const tsh = (args: readonly string[], input = "") => user.user.tsh(args, { env, input });
    const cat = ["-i", "-n", namespace, "shell", "--", "sh", "-c", "cat; echo err >&2; exit 42"];
    for (const args of [
      ["kube", "exec", ...cat],
      ["kube", "exec", `--kube-cluster=${platform.kube}`, ...cat],
      ["kubectl", "exec", ...cat],
    ]) {
      const done = await tsh(args, "from here\n");
      expect(done, args.join(" ")).toMatchObject({ status: 42, stdout: "from here\n" });
      expect(done.stderr).toMatch(/^err\n/m);
    }
    expect(await tsh(["kubectl", "-n", namespace, "get", "pod", "nobody"])).toMatchObject({ status: 1, stderr: expect.stringMatching(/NotFound/) });
    expect(await tsh(["kube", "exec", "--kube-cluster=nowhere", "shell", "--", "id"])).toMatchObject({ status: 5 });
    await using shell = inTerminal(`stty cols 91 rows 31; exec ${user.user.executable} kube exec -it -n ${namespace} shell -- sh`, env);
    await shows(shell, "# ");
    shell.type("while [ \"$(stty size)\" != '31 91' ]; do sleep 0.1; done; echo si''zed; exit 7\n");
    await shows(shell, "sized");
    await until("it has ended", () => shell.exited);
    expect(shell.printed()).toContain("exit code 7");
  });

  test.each(rows(kubectlVersions, ["1.20", "1.36"]))("kubectl %s debug: a copy of a pod with a terminal, and a pod on a node", async (version) => {
    const copy = `copy-${version.replace(".", "-")}`;
    const debug = `${await kubectl(version)} -n ${namespace} debug`;
    await using shell = inTerminal(`exec ${debug} shell -it --copy-to=${copy} --container=main -- sh`);
    await until(
      "the copy runs",
      async () => (await world.api.ask("GET", `/api/v1/namespaces/${namespace}/pods/${copy}`)).body.status?.phase === "Running",
    );
    shell.type("echo in the co''py of $HOSTNAME\n");
    await shows(shell, `in the copy of ${copy}`);
    shell.type("exit\n");
    await until("it has ended", () => shell.exited);
    await using onNode = inTerminal(`exec ${debug} node/real -it --image=${busyboxImage} -- sh`);
    onNode.type("test -d /host && echo on the no''de\nexit\n");
    await shows(onNode, "on the node");
    await until("it has ended", () => onNode.exited);
  });

  test("what runs goes on through a reload of the agent, and then of control; its recording is whole", { timeout: 180_000 }, async () => {
    const [port = 0] = await freePorts(1);
    await using exec = await started("1.36", ["exec", "-i", "shell", "--", "cat"]);
    await using watching = await started("1.36", ["get", "configmaps", "--watch", "-o", "name"]);
    await using forwarding = await started("1.36", ["port-forward", "shell", `${port}:8080`]);
    await using shell = inTerminal(`exec ${await kubectl("1.20")} -n ${namespace} exec -it shell -- sh`);
    await Promise.all([shows(forwarding, "Forwarding from"), shows(shell, "# ")]);
    // A request that ends after both reloads.
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    let answer = "";
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString())).write("GET /hello HTTP/1.0\r\n");
    const goOn = async (word: string): Promise<void> => {
      exec.type(`${word}\n`);
      shell.type(`echo ${word[0]}''${word.slice(1)}\n`);
      socket.write(`X-${word}: 1\r\n`);
      await world.api.must("POST", `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: word } });
      await Promise.all([shows(exec, word), shows(shell, word), shows(watching, `configmap/${word}`)]);
      expect(await run("curl", ["-sf", "--max-time", "30", `http://127.0.0.1:${port}/hello`])).toMatchObject({ stdout: "hello\n" });
      expect(await inPod("1.36", ["get", "pod", "shell", "-o", "name"])).toMatchObject({ status: 0, stdout: "pod/shell\n" });
    };
    await goOn("first");
    for (const [service, word] of [
      [agent, "second"],
      [control, "third"],
    ] as const) {
      await service?.reload();
      await goOn(word);
      // All are in the process that was there at first.
      expect((await service?.all())?.map(({ role, sessions }) => [role, sessions > 0])).toContainEqual(["draining", true]);
    }
    socket.write("\r\n");
    await until("the request is answered", () => answer.endsWith("hello\n"));
    shell.type("exit\n");
    await until("the shell has ended", () => shell.exited);
    for (const one of [exec, watching, forwarding]) await one.stop();
    // Those of terminals before this one may be complete later than it.
    await until("a recording has all that it showed", () =>
      findPlayed(platform.cluster, { user: user.user, state: "complete", isIt: (text) => text === shell.printed() }),
    );
    await until("the processes from before have ended", async () =>
      (await Promise.all([agent?.all(), control?.all()])).flat().every((one) => one?.role === "main"),
    );
  });
});
