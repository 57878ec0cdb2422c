import { createHash, generateKeyPairSync } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { kubeWorld } from "../world/kubernetes/kube-world.ts";
import { helm } from "../world/kubernetes/kubectl.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { output, program, run } from "../world/program.ts";
import { until } from "../world/until.ts";

/** The chart on a real cluster: its pods run our image, join, keep their identity, and have no right that they do not need. */

const root = resolve(import.meta.dirname, "../..");
const chart = join(root, "charts/platform-kube-agent");
const world = await ifPossible(() => kubeWorld({ own: true }));
const skip = world instanceof NotHere ? ` (skipped: ${world.message})` : "";
const keys = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" }).toString();

const held = new AsyncDisposableStack();
let dir = "";
let cluster: Cluster;
let namespace = "";
let tool = "";

/** Limit for a roll-out, ms: on a loaded machine a pod of a minute is not a failure. */
const rollOutMs = 120_000;

const kubectl = async (...args: string[]) => {
  if (world instanceof NotHere) throw world;
  return await world.kubectl("1.20", ["-n", namespace, ...args], { limitMs: rollOutMs + 10_000 });
};
const must = async (...args: string[]): Promise<string> => {
  const done = await kubectl(...args);
  if (done.status !== 0) throw new Error(`kubectl ${args.join(" ")}: ${done.stderr}`);
  return done.stdout;
};
const callHelm = async (...args: string[]) => {
  if (world instanceof NotHere) throw world;
  return await run(tool, ["-n", namespace, ...args], {
    env: { HOME: dir, KUBECONFIG: world.adminKubeconfig, PATH: process.env.PATH ?? "" },
    limitMs: 150_000,
  });
};

beforeAll(async () => {
  if (world instanceof NotHere) return;
  held.use(world);
  dir = await mkdtemp(join(tmpdir(), "platform-kube-chart-"));
  held.defer(async () => await rm(dir, { recursive: true, force: true }));
  tool = await helm();
  namespace = await world.namespace("real");
  await world.letOut();
  cluster = held.use(await startCluster({ address: world.outerAddress }));
  const layout = join(dir, "image");
  const arch = process.arch === "arm64" ? "arm64" : "x64";
  await output(process.execPath, [
    join(root, "scripts/image.ts"),
    "--arch",
    arch,
    "--version",
    "1.0.0",
    "--fast",
    "--executable",
    program("platform"),
    "--out",
    layout,
  ]);
  await output("tar", ["-C", layout, "-cf", join(dir, "image.tar"), "."]);
  await world.importImage(join(dir, "image.tar"), "registry.test/platform-ent");
});
afterAll(async () => await held.disposeAsync());

/** Values of a release with one application, which stands for a resource. */
async function values(more: readonly string[] = []): Promise<string[]> {
  const set = [
    ...["roles=app", `proxyAddr=${cluster.proxy}`, `caPin={${await cluster.pin()}}`, "image.repository=registry.test/platform-ent"],
    ...["apps[0].name=hello", "apps[0].uri=tcp://127.0.0.1:9", "terminationGracePeriodSeconds=1", ...more],
  ];
  return set.flatMap((one) => ["--set", one]);
}

const isReady = (pod: string) => async (): Promise<boolean> =>
  (await kubectl("get", "pod", pod, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].status}")).stdout === "True";
/** The identity that a pod's agent has, by its log. */
const hostOf = async (pod: string): Promise<string> => {
  const lines = (await must("logs", pod)).split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as { event: string; host?: string }).find(({ event }) => event === "identity")?.host ?? "";
};

describe.skipIf(world instanceof NotHere)(`the chart platform-kube-agent${skip}`, { timeout: 5 * rollOutMs }, () => {
  test("every set of values passes helm's checks and those of the API server", async () => {
    for (const name of await readdir(join(chart, "ci"))) {
      const file = join(chart, "ci", name);
      expect((await callHelm("lint", chart, "--strict", "-f", file)).stdout).toContain("0 chart(s) failed");
      for (const version of ["1.20.2", "1.36.0"]) {
        const shown = await callHelm("template", "agent", chart, "-f", file, "--kube-version", version);
        expect(shown.status, shown.stderr).toBe(0);
        expect(shown.stdout).not.toContain(version === "1.20.2" ? "policy/v1\n" : "policy/v1beta1");
        if (version !== "1.20.2") continue;
        // There is no Prometheus operator, and no priority of this name for pods of this namespace.
        const known = shown.stdout.split(/^---$/m).filter((object) => !/^kind: ServiceMonitor$/m.test(object));
        await writeFile(join(dir, "rendered.yaml"), known.join("---"));
        const applied = await kubectl("apply", "--dry-run=server", "-f", join(dir, "rendered.yaml"));
        expect(applied.status, `${name}: ${applied.stderr}`).toBe(0);
      }
    }
  });

  test.for([
    ["a misspelt value", ["updater.enable=true"], /enable is not allowed/],
    ["a value of another type", ["updater.enabled=1"], /Expected: boolean/],
    ["the tag latest", ["image.tag=latest"], /image.tag/],
    ["an updater outside of the Enterprise edition", ["updater.enabled=true", "updater.publicKeys=k"], /enterprise: true/],
    ["an updater without a key", ["updater.enabled=true", "enterprise=true"], /publicKeys is required/],
    ["no token", ["authToken="], /authToken is required/],
    [
      "a service account without the cluster's name",
      ["authToken=", "joinParams.method=kubernetes", "joinParams.tokenName=x"],
      /platformClusterName is required/,
    ],
  ] as const)("%s is refused", async ([, more, message]) => {
    const file = join(chart, "ci/minimal-values.yaml");
    const refused = await callHelm("template", "agent", chart, "-f", file, ...more.flatMap((one) => ["--set", one]));
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toMatch(message);
  });

  test("a pod joins with the token, and keeps its identity when it is replaced", async () => {
    const token = await cluster.token("--type=app");
    const installed = await callHelm("install", "agent", chart, ...(await values([`authToken=${token}`])));
    expect(installed.status, installed.stderr).toBe(0);
    await until("the agent is ready", isReady("agent-0"), rollOutMs);
    const id = await hostOf("agent-0");
    expect((await cluster.tctl(["inventory", "ls"])).stdout).toContain(id);
    await must("delete", "pod", "agent-0", "--wait");
    await until("the next one is ready", isReady("agent-0"), rollOutMs);
    expect(await hostOf("agent-0")).toBe(id);
    const spec = JSON.parse(await must("get", "pod", "agent-0", "-o", "json")).spec;
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 9807, seccompProfile: { type: "RuntimeDefault" } });
    expect(spec.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  });

  test("helm's own test passes, and an upgrade without the token keeps the Secret and adds a replica's", async () => {
    const tested = await callHelm("test", "agent");
    expect(tested.status, tested.stdout + tested.stderr).toBe(0);
    const before = await must("get", "secret", "agent-join-token", "-o", "jsonpath={.data}");
    const upgraded = await callHelm("upgrade", "agent", chart, ...(await values(["highAvailability.replicaCount=2"])));
    expect(upgraded.status, upgraded.stderr).toBe(0);
    await until("the second agent is ready", isReady("agent-1"), rollOutMs);
    // Replicas have an affinity, which a single pod has not: the first one is replaced, too.
    await must("rollout", "status", "statefulset/agent", `--timeout=${rollOutMs}ms`);
    expect(await must("get", "secret", "agent-join-token", "-o", "jsonpath={.data}")).toBe(before);
    expect(await hostOf("agent-1")).not.toBe(await hostOf("agent-0"));
    const back = await callHelm("rollback", "agent", "1");
    expect(back.status, back.stderr).toBe(0);
    await until("the second Secret is gone", async () => (await kubectl("get", "secret", "agent-1-state")).status !== 0, rollOutMs);
    await must("rollout", "status", "statefulset/agent", `--timeout=${rollOutMs}ms`);
  });

  test("agent and updater have the rights that they need, by name", async () => {
    const updater = ["enterprise=true", "updater.enabled=true", `updater.publicKeys=${keys}`];
    const upgraded = await callHelm("upgrade", "agent", chart, ...(await values(updater)));
    expect(upgraded.status, upgraded.stderr).toBe(0);
    const may = async (account: string, verb: string, what: string): Promise<boolean> =>
      (await kubectl("auth", "can-i", verb, what, `--as=system:serviceaccount:${namespace}:${account}`)).stdout.trim() === "yes";
    const allowed = [
      ...(["get", "patch"] as const).map((verb) => ["agent", verb, "secret/agent-0-state"] as const),
      ...[["agent", "patch", "secret/agent-shared-state"] as const, ["agent-updater", "get", "secret/agent-shared-state"] as const],
      ...[["agent-updater", "patch", "statefulset/agent"] as const, ["agent-updater", "delete", "pods"] as const],
    ];
    for (const [account, verb, what] of allowed) expect(await may(account, verb, what), `${account} ${verb} ${what}`).toBe(true);
    const refused = [
      ...(["list", "create", "get", "delete"] as const).map((verb) => ["agent", verb, "secrets"] as const),
      ...(["get", "list", "create", "patch"] as const).map((verb) => ["agent-updater", verb, "secrets"] as const),
      ...[["agent-updater", "get", "secret/agent-0-state"] as const, ["agent-updater", "get", "secret/agent-join-token"] as const],
      ...[
        ["agent-updater", "patch", "statefulset/other"] as const,
        ["agent-updater", "create", "pods"] as const,
        ["agent", "patch", "statefulset/agent"] as const,
      ],
    ];
    for (const [account, verb, what] of refused) expect(await may(account, verb, what), `${account} ${verb} ${what}`).toBe(false);
  });

  test("helm does not lower the version that the updater has installed", async () => {
    const image = "registry.test/platform-ent:1.0.1@sha256:".concat(createHash("sha256").update("x").digest("hex"));
    const patch = JSON.stringify([{ op: "replace", path: "/spec/template/spec/containers/0/image", value: image }]);
    await must("patch", "statefulset", "agent", "--type=json", "-p", patch);
    const updater = ["enterprise=true", "updater.enabled=true", `updater.publicKeys=${keys}`, "log.level=DEBUG"];
    expect((await callHelm("upgrade", "agent", chart, ...(await values(updater)))).status).toBe(0);
    const shown = () => must("get", "statefulset", "agent", "-o", "jsonpath={.spec.template.spec.containers[0].image}");
    expect(await shown()).toBe(image);
    // A version that is named is meant.
    expect((await callHelm("upgrade", "agent", chart, ...(await values([...updater, "image.tag=1.0.0"])))).status).toBe(0);
    expect(await shown()).toBe("registry.test/platform-ent:1.0.0");
  });

  test("a pod joins with its service account, another account does not", async () => {
    const jwks = await must("get", "--raw", "/openid/v1/jwks");
    const kubernetes = { type: "static_jwks", allow: [{ service_account: `${namespace}:pods` }], static_jwks: { jwks } };
    const document = {
      kind: "token",
      version: "v2",
      metadata: { name: "kube-agents" },
      spec: { roles: ["app"], join_method: "kubernetes", kubernetes },
    };
    await writeFile(join(dir, "token.yaml"), JSON.stringify(document));
    const created = await cluster.tctl(["create", join(dir, "token.yaml")]);
    expect(created.status, created.stderr).toBe(0);
    const join_ = ["joinParams.method=kubernetes", "joinParams.tokenName=kube-agents", "platformClusterName=test.cluster"];
    for (const name of ["pods", "others"]) {
      const installed = await callHelm("install", name, chart, ...(await values(join_)));
      expect(installed.status, installed.stderr).toBe(0);
    }
    await until("the agent has joined", isReady("pods-0"), rollOutMs);
    await until(
      "the other one was refused",
      async () => {
        const logs = [await kubectl("logs", "others-0"), await kubectl("logs", "others-0", "--previous")];
        return logs.some(({ stdout }) => stdout.includes(`does not allow the service account ${namespace}:others`));
      },
      rollOutMs,
    );
  });

  test("removed, it leaves nothing", async () => {
    expect((await callHelm("uninstall", "agent")).status).toBe(0);
    const left = (
      await must("get", "secrets,configmaps,roles,statefulsets,deployments", "-l", "app.kubernetes.io/instance=agent", "-o", "name")
    ).trim();
    expect(left).toBe("");
  });
});
