import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Hub, openHub } from "../world/hub.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { kubectl } from "../world/kubernetes/kubectl.ts";
import { startShellPod } from "../world/kubernetes/shell-pod.ts";
import { output, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { type Processes, processes } from "../world/reload.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const port = 3026;
const everything = { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources };

/** Agents that join the auth service directly listen on 3026, each in a network namespace of its own, and the proxy dials them. */
await describeKube("Kubernetes agents that proxies dial", (world) => {
  let hub: Hub<"control" | "one" | "two">;
  let platform: KubePlatform;
  let namespace: string;
  let user: KubeUser;
  let service: Processes;

  beforeAll(async () => {
    hub = await openHub(["control", "one", "two"], []);
    const runtime = await mkdtemp(join(tmpdir(), "platform-kube-direct-"));
    const { one, two, control } = hub.hosts;
    await Promise.all([one, two].map(({ netns }) => world.connect(netns)));
    [platform, namespace] = await Promise.all([
      KubePlatform.open(world, { ...control, name: "control.test", agentNetns: one.netns, agentEnv: { RUNTIME_DIRECTORY: runtime }, direct: true }),
      world.namespace("real"),
    ]);
    [user] = await Promise.all([platform.user("ada", everything), startShellPod(world, namespace, "shell")]);
    service = await processes(join(platform.agents[0]?.dir ?? "", "agent.pid"), runtime);
  }, 120_000);
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    if (service !== undefined) await rm(service.runtime, { recursive: true, force: true });
    await platform?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
  });

  const getPods = async () => await user.kubectl("1.36", ["-n", namespace, "get", "pods", "-o", "name"]);

  test("kubectl get pods, and a terminal in one, through an agent without a tunnel", async () => {
    expect(await getPods()).toMatchObject({ status: 0, stdout: "pod/shell\n" });
    const [agent] = platform.agents;
    expect(agent?.service.printed()).toContain(`${hub.hosts.one.address}:${port}`);
    expect(agent?.service.printed()).not.toContain("tunnel is up");
    // The size arrives a moment after the program has begun.
    const program = 'trap "stty size" WINCH; stty size; until read word; do :; done; echo typed \\$word';
    const line = `stty cols 91 rows 31; exec ${await kubectl("1.36")} -n ${namespace} exec -it shell -- sh -c "${program.replaceAll('"', '\\"')}"`;
    const shell = startService("script", ["--quiet", "--flush", "--return", "--command", line, "/dev/null"], {
      env: { ...user.env, TERM: "xterm", SHELL: "/bin/sh" },
      netns: hub.hosts.control.netns,
    });
    try {
      await until("the terminal has its size", () => shell.printed().includes("31 91"));
      shell.type("hello\n");
      await until("the program answers", () => shell.printed().includes("typed hello"));
      await until("it has ended", () => shell.exited);
    } finally {
      await shell.kill();
    }
  });

  test("a role that is taken away after a reload ends a watch that the process before it serves", { timeout: 120_000 }, async () => {
    const { netns } = hub.hosts.control;
    await using watching = startService(await kubectl("1.36"), ["get", "pods", "-n", namespace, "-w", "-o", "name"], { env: user.env, netns });
    await until("the watch shows what is there", () => watching.printed().includes("pod/shell"));
    await service.reload();
    expect((await service.all()).map(({ role, sessions }) => [role, sessions > 0])).toContainEqual(["draining", true]);
    const role = "role-of-ada";
    await putRole(platform.cluster, role, { allow: { kubernetes_labels: { env: "test" } } });
    await until("the process before has ended", async () => (await service.all()).length === 1, 20_000);
    await putRole(platform.cluster, role, { allow: { kubernetes_labels: { env: "test" }, ...everything } });
    await until("kubectl works again", async () => (await getPods()).status === 0);
  });

  test("only proxies are let in: an agent's own certificate, and none at all, get the reason", async () => {
    const [agent] = platform.agents;
    const { netns } = hub.hosts.two;
    const file = join(agent?.dir ?? "", "data", "agent", "credentials.json");
    const own = await run(process.execPath, ["-e", visitor, hub.hosts.one.address, file], { netns, limitMs: 30_000 });
    expect(own.stdout).toMatch(/only proxies may connect to an agent, and \S+ has role node/);
    const none = await run("curl", ["-s", "--http0.9", "--max-time", "5", `http://${hub.hosts.one.address}:${port}/`], { netns });
    expect(none.stdout).toContain("Only the cluster's proxies connect here.");
  });

  test("a port that a firewall closes: the reason in words, and a second agent in its place", async () => {
    const { one, two } = hub.hosts;
    const rule = (verdict: string) => output("nft", ["-f", "-"], { netns: one.netns, input: closed(verdict) });
    await rule("reject with tcp reset");
    const refused = await getPods();
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain(`its agent does not answer: could not connect to kube-1 at ${one.address}:${port}: connection refused`);
    await platform.agent({ agentNetns: two.netns, direct: true });
    await until("kubectl works again", async () => (await getPods()).status === 0);
    // Packets that vanish are the worse case: each connection would wait for its end.
    await rule("drop");
    const from = performance.now();
    for (let turn = 0; turn < 3; turn += 1) expect(await getPods()).toMatchObject({ status: 0, stdout: "pod/shell\n" });
    expect(performance.now() - from).toBeLessThan(15_000);
  });
});

function closed(verdict: string): string {
  const rules = ["add table inet closed", "delete table inet closed", "add table inet closed"];
  return `${rules.join("\n")}
add chain inet closed in { type filter hook input priority 0; }
add rule inet closed in tcp dport ${port} ${verdict}
`;
}

/** Speaks TLS to the port with the credentials of a file, and prints the answer. */
const visitor = `
const { connect } = require("node:tls");
const { readFileSync } = require("node:fs");
const [host, file] = process.argv.slice(1);
const { tlsCertificate: cert, tlsPrivateKey: key } = JSON.parse(readFileSync(file, "utf8"));
const socket = connect({ port: ${port}, host, ALPNProtocols: ["platform-direct"], rejectUnauthorized: false, cert, key });
socket.on("data", (data) => console.log(data.toString("latin1"))).on("error", (error) => console.log(error.message)).on("close", () => process.exit());
`;
