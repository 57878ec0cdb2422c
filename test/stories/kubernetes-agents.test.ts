import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../world/free-port.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { clientNodeInformer, pythonInformer } from "../world/kubernetes/informer-scripts.ts";
import { askKube, beginKube } from "../world/kubernetes/kube-client.ts";
import { adminEntrance, allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { clientNode, kubectl } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { lag, watchMaps } from "../world/kubernetes/watch-maps.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { long, rounds } from "../world/rounds.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const access = { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources };
/** Time in which what runs ends when its user has lost access, ms. */
const endMs = 5_000;
/** Validity of certificates of the user whose certificate expires while he works, s. */
const shortSeconds = 30;

const library = await ifPossible(clientNode);
/** Debian's python3-kubernetes is for its own Python. */
const noPython = existsSync("/usr/lib/python3/dist-packages/kubernetes") ? undefined : "no python3-kubernetes";
/** Libraries whose informers are tried, with the reason why one is not. */
const informers = [
  ["@kubernetes/client-node", library instanceof NotHere ? library.message : undefined],
  ["python3-kubernetes", noPython],
] as const;

/** Time for which a watch and an exec idle, longer than their certificate is valid, ms; number of events after it. */
const idle = { ms: rounds(65 * 60_000, shortSeconds * 1000), events: rounds(100, 20) } as const;

/** An exec, a watch, and a port-forward with a connection, of one user. */
interface Running extends AsyncDisposable {
  readonly all: readonly Service[];
}

await describeKube("the end of access, and several agents of one cluster", (world) => {
  let platform: KubePlatform;
  let namespace: string;
  let user: KubeUser;
  let idling: Awaited<ReturnType<typeof beginIdling>>;
  let short: Awaited<ReturnType<typeof beginShort>>;

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
    [short, idling] = await Promise.all([beginShort(), beginIdling()]);
  });
  afterAll(async () => {
    await short?.running[Symbol.asyncDispose]();
    await idling?.exec.kill();
    await platform?.[Symbol.asyncDispose]();
  });

  const ofShort = { max_session_ttl: `${shortSeconds}s` };

  async function beginShort() {
    const eve = await platform.user("eve", access, { options: { ...ofShort, disconnect_expired_cert: true } });
    const { cert } = await eve.entrance();
    return { running: await begin(eve), expires: new X509Certificate(cert).validToDate.getTime() };
  }

  async function beginIdling() {
    const ivy = await platform.user("ivy", access, { options: ofShort });
    const args = ["-n", namespace, "exec", "-i", "shell", "--", "sh", "-c", "echo begun; cat"];
    const exec = startService(await kubectl("1.36"), args, { env: ivy.env });
    const [through, directly] = [await watchMaps(await ivy.entrance(), namespace), await watchMaps(await adminEntrance(world), namespace)];
    await until("cat runs", () => exec.printed().includes("begun"));
    return { began: performance.now(), exec, through, directly };
  }

  const hosts = async (): Promise<readonly string[]> => {
    const [only] = JSON.parse((await user.user.tsh(["kube", "ls", "--format=json"])).stdout) as { hosts?: string[] }[];
    return only?.hosts ?? [];
  };

  async function begin({ env }: KubeUser): Promise<Running> {
    const [path, [port = 0]] = await Promise.all([kubectl("1.36"), freePorts(1)]);
    const started = (...args: string[]): Service => startService(path, ["-n", namespace, ...args], { env });
    const exec = started("exec", "shell", "--", "sh", "-c", "echo begun; sleep 600");
    const all = [exec, started("get", "pods", "--watch"), started("port-forward", "shell", `${port}:8080`)];
    const allShow = (what: string, wanted: RegExp): Promise<boolean> =>
      until(what, () => {
        const silent = all.filter((one) => !wanted.test(one.printed()));
        if (silent.length > 0) throw new Error(`not yet: ${silent.map((one) => `${one.exited ? "ended" : "runs"}: ${one.printed()}`).join("\n")}`);
        return true;
      });
    await allShow("all run", /begun|shell|Forwarding/);
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    // A request that has not ended holds the connection.
    socket.resume().write("GET /hello HTTP/1.1\r\n");
    await allShow("a connection is forwarded", /begun|shell|Handling connection/);
    return {
      all,
      [Symbol.asyncDispose]: async () => {
        socket.destroy();
        for (const one of all) await one.kill();
      },
    };
  }

  /** Exec, watch and port-forward end, and each prints why. */
  async function ended({ all }: Running, why: RegExp): Promise<void> {
    await until(
      "exec, watch and port-forward have ended",
      () => {
        const open = all.filter(({ exited }) => !exited);
        if (open.length > 0) throw new Error(`still running: ${open.map((one) => one.printed()).join("\n")}`);
        return true;
      },
      endMs,
    );
    for (const one of all) expect(one.printed()).toMatch(why);
  }

  test("a lock ends what runs, and says why", async () => {
    const bob = await platform.user("bob", access);
    await using running = await begin(bob);
    await platform.cluster.admin("lock", "--user=bob", "--message=laptop stolen", "--ttl=1h");
    await ended(running, /laptop stolen/);
    const refused = await bob.kubectl("1.32", ["get", "pods", "-n", namespace]);
    expect(refused.stderr).toContain("laptop stolen");
  });

  test("a role that is removed ends what runs, and the next request is refused", async () => {
    const cal = await platform.user("cal", access);
    await using running = await begin(cal);
    await platform.cluster.admin("users", "update", "cal", "--set-roles=access");
    await platform.cluster.admin("rm", "role/role-of-cal");
    await ended(running, /access denied/);
    expect((await cal.kubectl("1.32", ["get", "pods", "-n", namespace])).status).toBe(1);
  });

  test("a certificate that expires ends what runs, where the role says so", async () => {
    await until("it has expired", () => Date.now() > short.expires, shortSeconds * 1000);
    await ended(short.running, /certificate of eve expired/);
  });

  test("a watch and an exec that idle for longer than their certificate is valid go on", { timeout: idle.ms + 180_000 }, async () => {
    const { began, exec, through, directly } = idling;
    await until("the time has passed", () => performance.now() > began + idle.ms, idle.ms + 1_000);
    // A change of access that takes nothing away.
    await platform.cluster.admin("lock", "--user=nobody-here", "--ttl=1h");
    await platform.cluster.admin("users", "update", "cal", "--set-roles=access,auditor");
    expect({ through: through.ended(), directly: directly.ended() }).toEqual({ through: undefined, directly: undefined });
    const later: number[] = [];
    for (let at = 0; at < idle.events; at += 1) {
      const name = `late-${at}`;
      await world.api.must("POST", `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name } });
      later.push(await until(`both have ${name}`, () => lag(name, { through, directly }), 10_000));
    }
    // Of a hundred, the one that is later than 99; beside other stories, how late it is says nothing.
    if (long) expect(later.toSorted((a, b) => a - b)[idle.events - 2]).toBeLessThan(50);
    exec.type("still here\n");
    await until("the program answers", () => exec.printed().includes("still here"), 10_000);
    await platform.cluster.admin("users", "update", "ivy", "--set-roles=access");
    await platform.cluster.admin("rm", "role/role-of-ivy");
    await until("what runs has ended with its role", () => exec.exited && through.ended() !== undefined, endMs);
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
      expect(await askKube(entrance, "/api/v1/namespaces/default")).toMatchObject({ status: 200 });
      // Beside other stories it says nothing.
      if (long) expect(performance.now() - from).toBeLessThan(1_000);
      expect(await user.kubectl("1.36", ["get", "ns", "default", "-o", "name"])).toMatchObject({ status: 0, stdout: "namespace/default\n" });
      agent.start();
      await until("both offer it again", async () => (await hosts()).length === 2);
    }
    expect(watches.filter(({ closed }) => !closed)).toEqual([]);
  });

  test.for(informers)("an informer of $0 whose agent is killed loses no event, and gets none twice", async ([name, missing], { skip }) => {
    if (missing !== undefined) return skip(missing);
    const own = await world.namespace("fake");
    const add = async (one: string): Promise<void> =>
      void (await world.api.must("POST", `/api/v1/namespaces/${own}/configmaps`, { metadata: { name: one, labels: { app: "informer" } } }));
    await add("before");
    const count = 4;
    await using watching = await (name === "python3-kubernetes" ? startPython(own, count) : startNode(own, count));
    await until("it has listed", () => watching.printed().includes("listed before"));
    // Its agent is one of the two.
    for (let at = 0; at < count; at += 2) {
      await add(`event-${at}`);
      await until("it has the event", () => watching.printed().includes(`ADDED event-${at}\n`));
      const agent = platform.agents[(at / 2) % 2] ?? expect.fail("no agent");
      await agent.service.kill();
      await add(`event-${at + 1}`);
      await until("it has that of the meantime", () => watching.printed().includes(`ADDED event-${at + 1}\n`));
      agent.start();
      await until("both offer it again", async () => (await hosts()).length === 2);
    }
    await until("it ends", () => watching.exited);
    const lines = watching.printed().trim().split("\n");
    expect(lines.filter((line) => line !== "again")).toEqual(["listed before", ...Array.from({ length: count }, (_, at) => `ADDED event-${at}`)]);
    expect(lines).toContain("again");
  });

  async function startNode(namespace: string, count: number): Promise<Service> {
    const file = join(user.user.home, "informer.mjs");
    await writeFile(file, clientNodeInformer);
    return startService(process.execPath, [file, String(library), namespace, String(count)], { env: user.env });
  }

  /** Through a local port: it does not know `tls-server-name`. */
  async function startPython(namespace: string, count: number): Promise<Service> {
    const [file, kubeconfig] = [join(user.user.home, "informer.py"), join(user.user.home, "local")];
    await writeFile(file, pythonInformer);
    const proxy = startService(user.user.executable, ["proxy", "kube", platform.kube, `--kubeconfig=${kubeconfig}`], { env: user.env });
    await until("the port is there", () => proxy.printed().includes("export KUBECONFIG"));
    const env = { ...user.env, KUBECONFIG: kubeconfig, PATH: "/usr/bin:/bin" };
    const python = startService("/usr/bin/python3", [file, namespace, String(count)], { env });
    return {
      ...python,
      get exited() {
        return python.exited;
      },
      [Symbol.asyncDispose]: async () => {
        await python.stop();
        await proxy.stop();
      },
    };
  }
});
