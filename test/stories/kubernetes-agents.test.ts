import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../world/free-port.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { beginKube } from "../world/kubernetes/kube-client.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { kubectl } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { rounds } from "../world/rounds.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const access = { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources };
/** Time in which what runs ends when its user has lost access, ms. */
const endMs = 5_000;
/** Validity of certificates of the user whose certificate expires while he works, s. */
const shortSeconds = 30;

/** An exec, a watch and a port-forward of one user. */
interface Running extends AsyncDisposable {
  readonly exec: Service;
  readonly all: readonly Service[];
}

await describeKube("the end of access, and several agents of one cluster", (world) => {
  let platform: KubePlatform;
  let namespace: string;
  let user: KubeUser;
  let short: { readonly running: Running; readonly expires: number };

  beforeAll(async () => {
    [platform, namespace] = await Promise.all([KubePlatform.open(world), world.namespace("real")]);
    await Promise.all([
      startShellPod(world, namespace, "shell"),
      platform.agent(),
      platform.user("ada", access).then((made) => {
        user = made;
      }),
    ]);
    await until("both agents offer it", async () => (await hosts()).length === 2);
    const eve = await platform.user("eve", access, { options: { max_session_ttl: `${shortSeconds}s`, disconnect_expired_cert: true } });
    const { cert } = await eve.entrance();
    short = { running: await begin(eve), expires: new X509Certificate(cert).validToDate.getTime() };
  });
  afterAll(async () => {
    await short?.running[Symbol.asyncDispose]();
    await platform?.[Symbol.asyncDispose]();
  });

  const hosts = async (): Promise<readonly string[]> => {
    const [only] = JSON.parse((await user.user.tsh(["kube", "ls", "--format=json"])).stdout) as { hosts?: string[] }[];
    return only?.hosts ?? [];
  };

  async function begin({ env }: KubeUser): Promise<Running> {
    const [path, [port = 0]] = await Promise.all([kubectl("1.36"), freePorts(1)]);
    const started = (...args: string[]): Service => startService(path, ["-n", namespace, ...args], { env });
    const exec = started("exec", "shell", "--", "sh", "-c", "echo begun; sleep 600");
    const all = [exec, started("get", "pods", "--watch"), started("port-forward", "shell", `${port}:8080`)];
    await until("all run", () => all.every((one) => /begun|shell|Forwarding/.test(one.printed())));
    return {
      ...{ exec, all },
      [Symbol.asyncDispose]: async () => {
        for (const one of all) await one.kill();
      },
    };
  }

  async function ended({ all }: Running, limitMs: number): Promise<void> {
    await until(
      "exec, watch and port-forward have ended",
      () => {
        const open = all.filter(({ exited }) => !exited);
        if (open.length > 0) throw new Error(`still running: ${open.map((one) => one.printed()).join("\n")}`);
        return true;
      },
      limitMs,
    );
  }

  test("a lock ends what runs, and says why", async () => {
    const bob = await platform.user("bob", access);
    await using running = await begin(bob);
    await platform.cluster.admin("lock", "--user=bob", "--message=laptop stolen", "--ttl=1h");
    await ended(running, endMs);
    expect(running.exec.printed()).toContain("laptop stolen");
    const refused = await bob.kubectl("1.32", ["get", "pods", "-n", namespace]);
    expect(refused.stderr).toContain("laptop stolen");
  });

  test("a role that is removed ends what runs, and the next request is refused", async () => {
    const cal = await platform.user("cal", access);
    await using running = await begin(cal);
    await platform.cluster.admin("users", "update", "cal", "--set-roles=access");
    await platform.cluster.admin("rm", "role/role-of-cal");
    await ended(running, endMs);
    expect((await cal.kubectl("1.32", ["get", "pods", "-n", namespace])).status).toBe(1);
  });

  test("a certificate that expires ends what runs, where the role says so", async () => {
    await until("it has expired", () => Date.now() > short.expires, shortSeconds * 1000);
    await ended(short.running, endMs);
    expect(short.running.exec.printed()).toMatch(/certificate of eve expired/);
  });

  test("an agent that is killed: the next request is answered by the other one", async () => {
    const entrance = await user.entrance();
    const watches = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const begun = await beginKube(entrance, "/api/v1/namespaces?watch=1", { headers: { accept: "application/json" } });
        begun.end();
        const [response] = (await once(begun, "response")) as [IncomingMessage];
        return response.on("error", () => {}).resume();
      }),
    );
    // Both once, so that each watch has lost its agent.
    const turns = rounds(10, 2);
    for (let turn = 0; turn < turns; turn += 1) {
      const agent = platform.agents[turn % 2] ?? expect.fail("no agent");
      await agent.service.kill();
      const from = performance.now();
      expect(await user.kubectl("1.36", ["get", "ns", "default", "-o", "name"])).toMatchObject({ status: 0, stdout: "namespace/default\n" });
      // With the time that kubectl takes to start.
      expect(performance.now() - from).toBeLessThan(3_000);
      agent.start();
      await until("both offer it again", async () => (await hosts()).length === 2);
    }
    expect(watches.filter(({ closed }) => !closed)).toEqual([]);
  });
});
