import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../world/free-port.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { heldStreams } from "../world/kubernetes/held-streams.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { type KubectlVersion, kubectl, kubectlVersions } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { run } from "../world/program.ts";
import { rounds } from "../world/rounds.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

await describeKube("streams into pods, with stock kubectl", (world) => {
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
  afterAll(async () => await platform?.[Symbol.asyncDispose]());

  const inPod = (version: KubectlVersion, args: readonly string[], options = {}) => user.kubectl(version, ["-n", namespace, ...args], options);
  /** A kubectl that runs on. */
  const started = async (version: KubectlVersion, args: readonly string[]): Promise<Service> =>
    startService(await kubectl(version), ["-n", namespace, ...args], { env: user.env });

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
});
