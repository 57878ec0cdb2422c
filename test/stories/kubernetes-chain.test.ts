import { generateKeyPairSync } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Instance } from "../../core/resources/instance.ts";
import { packChart } from "../../scripts/chart/pack-chart.ts";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { hasProgram } from "../world/has-program.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { helm, kubectl } from "../world/kubernetes/kubectl.ts";
import { type SeenWorkload, seeWorkload, workloadReaches } from "../world/kubernetes/seen-workload.ts";
import { packagedVersions, packageWorld } from "../world/package-world.ts";
import { output, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { long } from "../world/rounds.ts";
import { until } from "../world/until.ts";

/*
 * The whole way of a version to the agents of a cluster, with nothing in between that stands for anything: images are made and published, the proxy
 * serves them, the node pulls them, helm installs the chart, the agent joins by its service account, and the updater's pod changes the version.
 */

const root = resolve(import.meta.dirname, "../..");
const missing = ["gpg", "apt-ftparchive", "createrepo_c", "rpmsign", "rpmbuild", "dpkg-deb"].filter((name) => !hasProgram(name));
const { now, next, crashes } = packagedVersions;
const forged = "1.5.0";

await describeKube("a version's way to the agents of a Kubernetes cluster", (world) => {
  const held = new AsyncDisposableStack();
  let dir = "";
  let namespace = "";
  let cluster: Cluster;
  let settings: object;

  beforeEach(({ skip }) => skip(missing.length > 0, `needs ${missing.join(", ")}`));
  beforeAll(async () => {
    if (missing.length > 0) return;
    dir = await mkdtemp(join(tmpdir(), "platform-kube-chain-"));
    held.defer(async () => await rm(dir, { recursive: true, force: true }));
    [namespace] = await Promise.all([world.namespace("real"), world.letOut()]);
    const keys = await publish();
    const channels = { default: now, next, crashes, forged };
    const lines = Object.entries(channels).map(([name, version]) => `    ${name}: { static_version: v${version}, critical: true }\n`);
    const proxyService = `  packages_dir: ${join(dir, "repository")}\n  automatic_upgrades_channels:\n${lines.join("")}`;
    cluster = held.use(await startCluster({ address: world.outerAddress, proxyService }));
    const ca = await output("curl", ["-ksf", `https://${cluster.proxy}/webapi/auth/export?type=tls-host`]);
    await writeFile(join(dir, "ca.pem"), ca);
    await world.trustRegistry(cluster.proxy, ca);
    await must("create", "secret", "generic", "authorities", `--from-file=ca.pem=${join(dir, "ca.pem")}`);
    await createToken();
    settings = {
      ...{ roles: "kube,app", proxyAddr: cluster.proxy, caPin: [await cluster.pin()], enterprise: true, terminationGracePeriodSeconds: 1 },
      ...{ kubeClusterName: "inside", labels: { env: "test" }, apps: [{ name: "hello", uri: "tcp://127.0.0.1:9" }] },
      ...{ platformClusterName: "test.cluster", joinParams: { method: "kubernetes", tokenName: "kube-agents" } },
      tls: { existingCASecretName: "authorities" },
      updater: { enabled: true, publicKeys: keys },
    };
    await callHelm("repo", "add", "access", `https://${cluster.proxy}/packages/charts`, "--ca-file", join(dir, "ca.pem"));
  });
  afterAll(async () => await held.disposeAsync());

  /** Makes images of all versions, and the chart, and publishes them; the key by which images are signed, PEM. */
  async function publish(): Promise<string> {
    const packages = join(dir, "packages");
    await mkdir(packages);
    const built = await packageWorld();
    const [ours, theirs] = [await makeKey("ours"), await makeKey("theirs")];
    // A program that ends at once.
    const broken = join(dir, "broken");
    await mkdir(broken);
    await cp("/usr/bin/busybox", join(broken, "platform"));
    await cp(join(built.dist.now, "pty.node"), join(broken, "pty.node"));
    await makeImage(packages, { version: now, from: built.dist.now, key: ours });
    await makeImage(packages, { version: next, from: built.dist.next, key: ours });
    await makeImage(packages, { version: crashes, from: broken, key: ours });
    await makeImage(packages, { version: forged, from: broken, key: theirs });
    await packChart({ source: join(root, "charts/platform-kube-agent"), out: packages, version: now, epoch: 1_790_000_000 });
    await output("gpg", ["--homedir", built.gnupghome, "--output", join(dir, "keyring.gpg"), "--export"]);
    const request = { packages, out: join(dir, "repository"), keys: { gnupghome: built.gnupghome }, now: new Date() };
    expect((await publishRepository(request)).left).toEqual([]);
    return await readFile(join(dir, "ours.pub"), "utf8");
  }

  async function makeKey(name: string): Promise<string> {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await writeFile(join(dir, `${name}.pub`), publicKey.export({ type: "spki", format: "pem" }));
    const file = join(dir, `${name}.pem`);
    await writeFile(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    return file;
  }

  /** As `make image` does it. */
  async function makeImage(packages: string, { version, from, key }: { version: string; from: string; key: string }): Promise<void> {
    const about = ["--version", version, "--executable", join(from, "platform"), "--key", key];
    const arch = process.arch === "arm64" ? "arm64" : "x64";
    const out = join(packages, `platform-ent-${version}.oci`);
    await output(process.execPath, [join(root, "scripts/image.ts"), "--arch", arch, "--fast", ...about, "--out", out], { limitMs: 120_000 });
  }

  /** Only the service account of this release joins, with the keys of the cluster. */
  async function createToken(): Promise<void> {
    const jwks = await must("get", "--raw", "/openid/v1/jwks");
    const kubernetes = { type: "static_jwks", allow: [{ service_account: `${namespace}:agent` }], static_jwks: { jwks } };
    const spec = { roles: ["kube", "app"], join_method: "kubernetes", kubernetes };
    const token = { kind: "token", version: "v2", metadata: { name: "kube-agents" }, spec };
    const created = await cluster.tctl(["create", "-f", "-"], { input: JSON.stringify(token) });
    expect(created.status, created.stderr).toBe(0);
  }

  async function must(...args: string[]): Promise<string> {
    const done = await world.kubectl("1.36", ["-n", namespace, ...args]);
    if (done.status !== 0) throw new Error(`kubectl ${args.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  async function callHelm(...args: string[]): Promise<string> {
    // Of a registry, helm takes the authorities from there alone.
    const env = { HOME: dir, KUBECONFIG: world.adminKubeconfig, SSL_CERT_FILE: join(dir, "ca.pem") };
    const done = await run(await helm(), ["-n", namespace, ...args], { env, limitMs: 60_000 });
    expect(done.status, `helm ${args.join(" ")}: ${done.stdout}${done.stderr}`).toBe(0);
    return done.stdout + done.stderr;
  }

  /** Installs the release, or changes the channel that its updater follows. */
  async function release(verb: "install" | "upgrade", releaseChannel: string): Promise<void> {
    const file = join(dir, "values.json");
    await writeFile(file, JSON.stringify({ ...settings, updater: { ...(settings as { updater: object }).updater, releaseChannel } }));
    // The one from the repository of charts, the other from the registry.
    const chart = verb === "install" ? ["access/platform-kube-agent", "--ca-file", join(dir, "ca.pem")] : [inRegistry()];
    await callHelm(verb, "agent", ...chart, "--values", file);
  }

  const inRegistry = (): string => `oci://${cluster.proxy}/charts/platform-kube-agent`;
  const place = (): string => `/apis/apps/v1/namespaces/${namespace}/statefulsets/agent`;
  const reaches = (reason: string): Promise<SeenWorkload> => workloadReaches(world.api, place(), reason, 120_000);
  const repository = (): string => `${cluster.proxy}/platform-ent`;
  /** What is set for a version: its tag, pinned to the digest that was published. */
  async function pinned(version: string): Promise<string> {
    const index = await readFile(join(dir, "packages", `platform-ent-${version}.oci/index.json`), "utf8");
    const { manifests } = JSON.parse(index) as { manifests: { digest: string; annotations: Record<string, string> }[] };
    const digest = manifests.find(({ annotations }) => annotations["org.opencontainers.image.ref.name"] === version)?.digest;
    return `${repository()}:${version}@${digest}`;
  }

  /** The agent's line of the inventory, once it has this version, and reports a result of the updater that fits. */
  const listed = (version: string, fits: (reason: string) => boolean): Promise<Instance> =>
    until(
      `the inventory has ${version}`,
      async () => {
        const all = JSON.parse(await cluster.admin("inventory", "ls", "--upgrader=kube", "--format=json")) as Instance[];
        const [only] = all;
        if (all.length !== 1 || only?.version !== version || !fits(only.status?.reason ?? "")) throw new Error(JSON.stringify(all));
        return only;
      },
      100_000,
    );

  test("the node pulls the image from the proxy, the agent joins, and kubectl reaches the cluster through it", async () => {
    await release("install", "default");
    const first = await until("the agent is ready", async () => {
      const seen = await seeWorkload(world.api, place());
      return seen.isSettled ? seen : undefined;
    });
    expect(first.image).toBe(`${repository()}:${now}`);
    await reaches("up_to_date");
    await putRole(cluster, "inside", {
      allow: {
        kubernetes_labels: { env: "test" },
        kubernetes_groups: ["system:masters"],
        kubernetes_resources: [{ kind: "pod", namespace, name: "agent-0", verbs: ["get", "list"] }],
      },
    });
    const user = await cluster.user("ida", { roles: "inside" });
    await until("it offers the cluster", async () => (await user.tsh(["kube", "ls", "--format=names"])).stdout.trim() === "inside");
    const env = { HOME: user.home, TSH_HOME: user.home, KUBECONFIG: join(user.home, "kubeconfig") };
    expect(await user.tsh(["kube", "login", "inside"], { env })).toMatchObject({ status: 0 });
    const shown = await run(await kubectl("1.36"), ["-n", namespace, "get", "pods", "-o", "name"], { env });
    expect(shown.stdout, shown.stderr).toBe("pod/agent-0\n");
    // The pod's account has the rights of the chart and no others.
    const may = async (verb: string, what: string): Promise<string> =>
      (await world.kubectl("1.36", ["-n", namespace, "auth", "can-i", verb, what, `--as=system:serviceaccount:${namespace}:agent`])).stdout.trim();
    expect([await may("impersonate", "users"), await may("get", "pods"), await may("list", "secrets")]).toEqual(["yes", "yes", "no"]);
  });

  test("helm verifies who packed the chart in the registry", async () => {
    const said = await callHelm("pull", inRegistry(), "--version", now, "--verify", "--keyring", join(dir, "keyring.gpg"), "--destination", dir);
    expect(said).toContain("Signed by");
  });

  test("the updater's pod sets a newer version to its digest, and the same agent comes back with it", async () => {
    const before = JSON.parse(await cluster.admin("inventory", "ls", "--format=json")) as Instance[];
    await release("upgrade", "next");
    expect(await reaches("upgraded")).toMatchObject({ image: await pinned(next), isSettled: true });
    // While it begins, the roll-out goes on.
    const instance = await listed(next, (reason) => ["rolling_out", "upgraded", "up_to_date"].includes(reason));
    expect(before.map(({ server_id }) => server_id)).toContain(instance.server_id);
    expect(instance).toMatchObject({ upgrader: "kube", connected: true });
    expect(instance.services.toSorted()).toEqual(["app", "kube"]);
  });

  test("a version that ends at once is rolled back and remembered, helm keeps the version, and one that others have signed is refused", async () => {
    const good = await pinned(next);
    await release("upgrade", "crashes");
    expect(await reaches("rolled_back")).toMatchObject({ image: good, isSettled: true });
    await must("annotate", "statefulset", "agent", "debug.platform.dev/trigger-event=1");
    const { generation } = await reaches("known_bad");
    await release("upgrade", "forged");
    expect(await reaches("signature_wrong")).toMatchObject({ image: good, generation, isSettled: true });
    // An agent reads the result once a minute: asking for it all the time costs more than everything else here.
    if (long) expect(await listed(next, (reason) => reason === "signature_wrong")).toMatchObject({ connected: true });
    const pod = JSON.parse(await must("get", "pod", "agent-0", "-o", "json")) as { status: { containerStatuses: [{ imageID: string }] } };
    expect(pod.status.containerStatuses[0].imageID).toContain(good.slice(good.indexOf("@")));
  });
});
