import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import { startEndingNginx } from "../world/ending-nginx.ts";
import { hasProgram } from "../world/has-program.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { askKube } from "../world/kubernetes/kube-client.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { kubectl, kubectlVersions } from "../world/kubernetes/kubectl.ts";
import { openNetwork } from "../world/network.ts";
import { program } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { startService } from "../world/service.ts";
import { until } from "../world/until.ts";

await describeKube("Kubernetes through an agent", (world) => {
  let platform: KubePlatform;
  let user: KubeUser;

  beforeAll(async () => {
    platform = await KubePlatform.open(world, { kubeService: "  resources:\n    - labels: { env: test }\n" });
    user = await platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
  });
  afterAll(async () => await platform?.[Symbol.asyncDispose]());

  describe("tsh kube", () => {
    test("ls shows the cluster, and the one that is selected", async () => {
      const done = await user.user.tsh(["kube", "ls"], { env: user.env });
      expect(done.stdout).toMatch(/Kube Cluster Name\s+Labels\s+Selected/);
      expect(done.stdout).toMatch(new RegExp(`${platform.kube}\\s+env=test\\s+\\*`));
    });

    test("login twice and logout leave a kubeconfig as it was, byte by byte", async () => {
      const file = join(user.user.home, "foreign");
      const foreign = `# of the team\napiVersion: v1\nkind: Config\nclusters:\n- name: other   # a comment\n  cluster: {server: "https://192.0.2.1:6443"}\ncontexts:\n- context: {cluster: other, user: other}\n  name: "127.0.0.1-other"\nusers:\n- name: other\n  user: {token: abc}\ncurrent-context: "127.0.0.1-other"\n`;
      await writeFile(file, foreign, { mode: 0o600 });
      const env = { ...user.env, KUBECONFIG: file };
      for (let turn = 0; turn < 2; turn += 1) expect(await user.user.tsh(["kube", "login", platform.kube], { env })).toMatchObject({ status: 0 });
      const between = await readFile(file, "utf8");
      expect(between).toContain("# a comment");
      expect(between).toContain("127.0.0.1-other");
      expect(await user.kubectl("1.36", ["get", "ns", "default", "-o", "name"], { env })).toMatchObject({ status: 0, stdout: "namespace/default\n" });
      expect(await user.user.tsh(["kube", "logout", platform.kube], { env })).toMatchObject({ status: 0 });
      expect(await readFile(file, "utf8")).toBe(foreign);
      // The certificate is gone with it: the other kubeconfig gets a new one.
      expect(await user.kubectl("1.36", ["get", "ns", "default", "-o", "name"])).toMatchObject({ status: 0 });
    });

    test("with several files in KUBECONFIG, the first one is written, and kubectl reads all", async () => {
      const [first, second] = [join(user.user.home, "first"), join(user.user.home, "second")];
      const other = JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "x", cluster: { server: "https://192.0.2.1" } }],
        contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
        users: [],
      });
      await writeFile(second, other);
      const env = { ...user.env, KUBECONFIG: `${first}:${second}` };
      expect(await user.user.tsh(["kube", "login", platform.kube], { env })).toMatchObject({ status: 0 });
      expect(await readFile(second, "utf8")).toBe(other);
      const contexts = (await user.kubectl("1.20", ["config", "get-contexts", "-o", "name"], { env })).stdout.split("\n");
      expect(contexts).toEqual(expect.arrayContaining(["x", `test.cluster-${platform.kube}`]));
      expect(await user.kubectl("1.32", ["get", "ns", "default", "-o", "name"], { env })).toMatchObject({ status: 0 });
    });

    test("kubectl gets a certificate that is still valid without tsh; the kubeconfig of before starts tsh until the next login", async () => {
      const file = join(user.user.home, "plugin");
      const env = { ...user.env, KUBECONFIG: file };
      const get = () => user.kubectl("1.36", ["get", "ns", "default", "-o", "name"], { env });
      const login = async () => expect(await user.user.tsh(["kube", "login", platform.kube], { env })).toMatchObject({ status: 0 });
      await login();
      const written = await readFile(file, "utf8");
      const [, tsh = "none"] = /^ *(?:-|command:) (\/.*tsh)$/m.exec(written) ?? [];
      await writeFile(file, written.replaceAll(tsh, "/no/tsh/here"));
      for (const version of kubectlVersions) {
        expect(await user.kubectl(version, ["get", "ns", "default", "-o", "name"], { env })).toMatchObject({
          status: 0,
          stdout: "namespace/default\n",
        });
      }
      const answers = (await readdir(user.user.home, { recursive: true })).filter((name) => /kube\/[^/]*\.exec$/.test(name));
      for (const name of answers) await rm(join(user.user.home, name));
      const refused = await get();
      expect(refused.status).not.toBe(0);
      expect(refused.stderr).toContain("/no/tsh/here");
      await writeFile(file, written.replace(/command: \/bin\/sh\n/, `command: ${tsh}\n`).replace(/ *- "?-c"?\n(.*\n){4}/, ""));
      expect(await get()).toMatchObject({ status: 0, stdout: "namespace/default\n" });
      await login();
      expect(await readFile(file, "utf8")).toBe(written);
    });

    test("tsh kubectl runs kubectl against the cluster", async () => {
      const path = await kubectl("1.36");
      const env = { ...user.env, PATH: `${path.slice(0, path.lastIndexOf("/"))}:${process.env.PATH}` };
      expect(await user.user.tsh(["kubectl", "get", "ns", "default", "-o", "name"], { env })).toMatchObject({
        status: 0,
        stdout: "namespace/default\n",
      });
    });
  });

  test("a kube_cluster resource is offered, changed and taken away, and nothing restarts; logins by labels, by a query, and to all", async () => {
    const kubeconfig = await readFile(await world.agentKubeconfig("books"), "utf8");
    const put = async (text: string, tier: string): Promise<void> => {
      const metadata = { name: "books", labels: { env: "test", tier } };
      const resource = { kind: "kube_cluster", version: "v3", metadata, spec: { kubeconfig: Buffer.from(text).toString("base64") } };
      expect(await platform.cluster.tctl(["create", "-f", "-"], { input: JSON.stringify(resource) })).toMatchObject({ status: 0 });
    };
    const env = { ...user.env, KUBECONFIG: join(user.user.home, "several") };
    const listed = async () =>
      JSON.parse((await user.user.tsh(["kube", "ls", "--format=json"])).stdout) as { kube_cluster_name: string; labels: Record<string, string> }[];
    const find = async () => (await listed()).find((one) => one.kube_cluster_name === "books");
    await put(kubeconfig, "two");
    await until("it is offered", find);
    for (const [flag, wanted] of [
      ["--labels=tier=two", ["books"]],
      ['--query=labels["tier"] == "two"', ["books"]],
      ["--labels=env=test", ["books", "prod"]],
      ["--all", ["books", "prod"]],
    ] as const) {
      await rm(env.KUBECONFIG, { force: true });
      expect(await user.user.tsh(["kube", "login", flag], { env })).toMatchObject({ status: 0 });
      const contexts = (await user.kubectl("1.36", ["config", "get-contexts", "-o", "name"], { env })).stdout;
      expect(contexts.trim().split("\n"), flag).toEqual(wanted.map((name) => `test.cluster-${name}`));
      // None of several is selected.
      expect((await user.kubectl("1.36", ["config", "current-context"], { env })).status).toBe(1);
    }
    expect(await user.user.tsh(["kube", "login", "--labels=tier=three"], { env })).toMatchObject({ status: 5 });
    const get = () => user.kubectl("1.36", ["--context=test.cluster-books", "get", "ns", "default", "-o", "name"], { env });
    expect(await get()).toMatchObject({ status: 0, stdout: "namespace/default\n" });
    await put(kubeconfig.replace(world.apiServerUrl, "https://127.0.0.1:1"), "two");
    await until("its new address is tried", async () => /could not reach the API server of Kubernetes cluster books/.test((await get()).stderr));
    await put(kubeconfig, "three");
    await until("its old address answers again", async () => (await get()).status === 0);
    await until("it has its new label", async () => (await find())?.labels.tier === "three");
    await platform.cluster.admin("rm", "kube_cluster/books");
    await until("it is not offered", async () => (await find()) === undefined);
    expect((await get()).stderr).toMatch(/"books"/);
    for (const event of ["kube.create", "kube.update", "kube.delete"]) await audited(platform.cluster, event, ({ name }) => name === "books");
    expect(await user.kubectl("1.36", ["get", "ns", "default", "-o", "name"])).toMatchObject({ status: 0 });
  });

  const noNginx = hasProgram("nginx") ? "" : " (nginx is not installed)";
  test.skipIf(noNginx !== "")(`behind nginx that ends TLS, login says what works, and that works${noNginx}`, async () => {
    await using nginx = await startEndingNginx({ proxy: platform.cluster.proxy });
    const { home } = user.user;
    const env = { ...user.env, SSL_CERT_FILE: nginx.caFile, KUBECONFIG: join(home, "balanced") };
    const through = `--proxy=${nginx.address}`;
    const login = [through, "--user=ada", `--ca-pin=${await platform.cluster.pin()}`];
    const input = `${user.user.password}\n${await user.user.code()}\n`;
    expect(await user.user.tsh(["login", ...login], { env, input })).toMatchObject({ status: 0 });
    const refused = await user.user.tsh(["kube", "login", through, platform.kube], { env });
    expect(refused).toMatchObject({ status: 11, stderr: expect.stringMatching(/ends TLS\n.*tsh proxy kube/) });
    await expect(readFile(env.KUBECONFIG)).rejects.toMatchObject({ code: "ENOENT" });
    await using local = startService(program("tsh"), ["proxy", "kube", through, `--kubeconfig=${env.KUBECONFIG}`, platform.kube], { env });
    await until("it listens", () => local.printed().includes("KUBECONFIG"));
    for (const version of kubectlVersions) {
      expect(await user.kubectl(version, ["get", "ns", "default", "-o", "name"], { env })).toMatchObject({
        status: 0,
        stdout: "namespace/default\n",
      });
    }
    expect(await nginx.upgrades()).toBeGreaterThan(0);
  });

  test("forty kubectl at once whose certificate has expired: one gets another, all succeed", async () => {
    const files = (await readdir(user.user.home, { recursive: true })).filter((name) => /kube\/[^/]*\.exec$/.test(name));
    expect(files).not.toEqual([]);
    for (const name of files) {
      const path = join(user.user.home, name);
      // The first line says until when it may be used.
      await writeFile(path, (await readFile(path, "utf8")).replace(/^\d+/, String(Math.floor(Date.now() / 1000) - 60)));
    }
    // The proxy has certificates made for each connection, too.
    const issued = async (): Promise<number> => (await auditEvents(platform.cluster, "cert.create")).filter(({ user: who }) => who === "ada").length;
    const before = await issued();
    const count = 40;
    const all = await Promise.all(Array.from({ length: count }, () => user.kubectl("1.36", ["get", "ns", "default", "-o", "name"])));
    expect(all.map(({ stdout, stderr }) => stdout + stderr)).toEqual(Array.from({ length: count }, () => "namespace/default\n"));
    expect((await issued()) - before).toBe(1);
  });

  test("an agent behind a firewall that lets it out to the proxy only", async () => {
    await using network = await openNetwork();
    await using squid = await startSquid({ netns: network.proxy, address: network.proxyAddress });
    await world.connect(network.agent);
    await using away = await KubePlatform.open(world, {
      ...{ kube: "away", address: "0.0.0.0", name: "control.test", netns: network.control, agentNetns: network.agent },
      agentEnv: { HTTPS_PROXY: squid.httpUrl, NO_PROXY: new URL(world.apiServerUrl).hostname },
    });
    const eve = await away.user("eve", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
    const dropped = await network.dropped();
    expect(await eve.kubectl("1.32", ["get", "ns", "default", "-o", "name"])).toMatchObject({ status: 0, stdout: "namespace/default\n" });
    expect(await squid.accessLog()).not.toContain(new URL(world.apiServerUrl).hostname);
    expect(await network.dropped()).toBe(dropped);
  });

  describe("errors are Status objects, with a sentence that kubectl shows", () => {
    test("a cluster that does not exist, and one that the roles do not allow any more", async () => {
      const absent = await user.user.tsh(["kube", "login", "nowhere"], { env: user.env });
      expect(absent.status).not.toBe(0);
      expect(absent.stderr).toMatch(/Kubernetes cluster "nowhere" does not exist, or your roles do not allow it/);
      const dan = await platform.user("dan", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
      // Without the kinds in its cache, kubectl has its own words.
      expect(await dan.kubectl("1.36", ["get", "ns", "default", "-o", "name"])).toMatchObject({ status: 0 });
      await putRole(platform.cluster, "role-of-dan", { options: {}, allow: { kubernetes_labels: { env: "other" } } });
      const refused = await until("the role is known", async () => {
        const done = await dan.kubectl("1.36", ["get", "ns", "default"]);
        return done.status !== 0 && done;
      });
      expect(refused.stderr).toMatch(/^Error from server \(ServiceUnavailable\): Kubernetes cluster "prod" .*your roles do not allow it/);
    });

    test("more connections than the role allows: 429", async () => {
      const fay = await platform.user(
        "fay",
        { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources },
        { options: { max_connections: 1 } },
      );
      await using watching = startService(await kubectl("1.36"), ["get", "ns", "-w"], { env: fay.env });
      await until("it watches", () => watching.printed().includes("default"));
      const refused = await fay.kubectl("1.32", ["get", "ns", "default"]);
      expect(refused.stderr).toMatch(/^Error from server \(TooManyRequests\): .*connections/);
    });

    test("an agent that is down, and back", async () => {
      const agent = platform.agents[0] ?? expect.fail("no agent");
      await agent.service.stop();
      for (const version of kubectlVersions) {
        const refused = await user.kubectl(version, ["get", "ns", "default"]);
        expect(refused.status).toBe(1);
        expect(refused.stderr).toMatch(/^Error from server \(ServiceUnavailable\): Kubernetes cluster "prod" .*no connected agent/);
      }
      expect(await askKube(await user.entrance(), "/api/v1/namespaces/default")).toMatchObject({ status: 503 });
      agent.start();
      await until("it works again", async () => (await user.kubectl("1.36", ["get", "ns", "default"])).status === 0);
    });

    test("what the role does not allow: 403, with the rule that is missing", async () => {
      const { kubectl: asEve } = await platform.user("eve", {
        kubernetes_groups: ["system:masters"],
        kubernetes_resources: [{ kind: "pod", namespace: "default", name: "*", verbs: ["get", "list"] }],
      });
      for (const version of kubectlVersions) {
        const refused = await asEve(version, ["get", "pod", "web", "-n", "kube-system"]);
        expect(refused.status).toBe(1);
        expect(refused.stderr).toMatch(/^Error from server \(Forbidden\): .*kubernetes_resources/);
      }
    });

    test("an agent whose account lacks a part of the ClusterRole serves, and its log names the part", async () => {
      const rules = [
        { apiGroups: [""], resources: ["users", "groups"], verbs: ["impersonate"] },
        { apiGroups: ["authorization.k8s.io"], resources: ["selfsubjectaccessreviews"], verbs: ["create"] },
      ];
      const agent = await platform.agent({ kubeconfig: await world.agentKubeconfig("narrow", rules) });
      await until("it warns", () =>
        /lacks permissions .*kube=narrow .*missing="impersonate serviceaccounts, get pods"/.test(agent.service.printed()),
      );
      expect(platform.agents[0]?.service.printed()).not.toContain("lacks permissions");
      await until("it is offered", async () => (await user.user.tsh(["kube", "ls", "--format=names"])).stdout.includes("narrow"));
    });

    test("an agent with a token for another kind cannot offer a Kubernetes cluster", async () => {
      const file = await world.agentKubeconfig("stolen");
      const agent = await platform.cluster.agent({
        name: "stranger",
        token: await platform.cluster.token("--type=db"),
        services: `kubernetes_service:\n  enabled: yes\n  kubeconfig_file: ${file}\n  labels: { env: test }\n`,
        noWait: true,
      });
      await until("it has ended", () => agent.service.exited);
      expect(agent.service.printed()).toContain("the join token is for db, not for kube");
      expect((await user.user.tsh(["kube", "ls", "--format=names"])).stdout).not.toContain("stolen");
    });

    test("an agent whose token names one cluster offers that one, and no other of its kubeconfig", async () => {
      const file = await world.agentKubeconfig("named");
      const config = JSON.parse(await readFile(file, "utf8")) as { contexts: { name: string }[] };
      await writeFile(file, JSON.stringify({ ...config, contexts: ["named", "other"].map((name) => ({ ...config.contexts[0], name })) }));
      await using agent = await platform.cluster.agent({
        name: "limited",
        token: await platform.cluster.token("--type=kube", "--resources=kube/named"),
        services: `kubernetes_service:\n  enabled: yes\n  kubeconfig_file: ${file}\n  labels: { env: test }\n`,
        noWait: true,
      });
      const offered = async (): Promise<readonly string[]> => (await user.user.tsh(["kube", "ls", "--format=names"])).stdout.split("\n");
      await until("the one that the token names is offered", async () => (await offered()).includes("named"));
      expect(await offered()).not.toContain("other");
      expect(platform.cluster.control.printed()).toMatch(/offers resources that its join token does not allow.*kube other/);
      const env = { ...user.env, KUBECONFIG: join(user.user.home, "limited") };
      // The last login was through nginx, which has ended: the cluster's proxy is next.
      const login = await user.user.tsh(["kube", "login", "named"], { env });
      expect(login).toMatchObject({ status: 0, stderr: expect.stringContaining(`going through ${platform.cluster.proxy}`) });
      expect(await user.kubectl("1.36", ["get", "ns", "default", "-o", "name"], { env })).toMatchObject({ status: 0 });
      expect(agent.service.exited).toBe(false);
      const refused = await user.user.tsh(["kube", "login", "other"], { env });
      expect(refused).toMatchObject({ status: 5, stderr: expect.stringMatching(/Kubernetes cluster "other" does not exist/) });
    });
  });

  test("audit: requests have cluster, verb and result; discovery has no events", async () => {
    await user.kubectl("1.32", ["get", "configmaps", "-n", "kube-system"]);
    const events = await until("the request is there", async () => {
      const all = await auditEvents(platform.cluster, "kube.request");
      return all.some(({ resource_namespace: namespace }) => namespace === "kube-system") ? all : undefined;
    });
    const event = events.find(({ resource_namespace: namespace }) => namespace === "kube-system");
    expect(event).toMatchObject({ user: "ada", kubernetes_cluster: platform.kube, kubernetes_verb: "list", response_code: 200, code: "T3009I" });
    expect(events.filter(({ request_path: path }) => /^\/(api(\/v1)?|apis(\/[^/]+\/[^/]+)?)$/.test(String(path)))).toEqual([]);
  });
});
