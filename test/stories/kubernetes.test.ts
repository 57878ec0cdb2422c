import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { busyboxImage } from "../world/kubernetes/busybox-image.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { type KubeWorld, kubeWorld } from "../world/kubernetes/kube-world.ts";
import { kubectl, kubectlVersions } from "../world/kubernetes/kubectl.ts";
import { openNetwork } from "../world/network.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import type { Finished } from "../world/program.ts";
import { until } from "../world/until.ts";

const opened = await ifPossible(() => kubeWorld());
const reason = opened instanceof NotHere ? ` (skipped: ${opened.message})` : "";

/** Objects of a small application, as files of `kubectl apply` have them. */
const manifest = JSON.stringify({
  apiVersion: "v1",
  kind: "List",
  items: [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { color: "blue" } },
    {
      ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", labels: { app: "web" } } },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: busyboxImage }] },
        },
      },
    },
  ],
});

describe.skipIf(opened instanceof NotHere)(`Kubernetes through an agent${reason}`, () => {
  const world = opened as KubeWorld;
  let platform: KubePlatform;
  let user: KubeUser;

  beforeAll(async () => {
    platform = await KubePlatform.open(world);
    user = await platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
  });
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

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

    test("tsh kubectl runs kubectl against the cluster", async () => {
      const path = await kubectl("1.36");
      const env = { ...user.env, PATH: `${path.slice(0, path.lastIndexOf("/"))}:${process.env.PATH}` };
      expect(await user.user.tsh(["kubectl", "get", "ns", "default", "-o", "name"], { env })).toMatchObject({
        status: 0,
        stdout: "namespace/default\n",
      });
    });
  });

  describe.each(kubectlVersions)("kubectl %s prints the same as without us", (version) => {
    /** Ages, times, names with a random part, and the namespace. */
    const plain = ({ stdout, stderr, status }: Finished, namespace: string): object => {
      const text = (one: string): string =>
        one
          .replaceAll(namespace, "NAMESPACE")
          .replace(/\b\d+(ms|s|m)(\d+s)?\b( ago)?/g, "AGE")
          .replace(/web-[0-9a-f]{8,10}(-[0-9a-z]{5})?/g, "web-HASH")
          .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UID")
          .replace(/\b10\.1\d\d\.\d+\.\d+\b/g, "POD-IP")
          .replace(/(resourceVersion: |resourceVersion":\s*)"\d+"/g, "VERSION")
          .replace(/20\d\d-\d\d-\d\dT[\d:.]+Z|\w{3}, \d\d \w{3} 20\d\d [\d:]+ \+\d{4}/g, "TIME")
          .replace(/pod-template-hash[=:] ?"?[0-9a-f]+"?/g, "HASH")
          .replace(/\/tmp\/(LIVE|MERGED)-\d+/g, "$1")
          .replace(/ +/g, " ");
      return { status, stdout: text(stdout), stderr: text(stderr) };
    };

    const commands: readonly (readonly [title: string, args: readonly string[], input?: string])[] = [
      ["apply", ["apply", "-f", "-"], manifest],
      ["rollout status", ["rollout", "status", "deployment/web", "--timeout=30s"]],
      ["wait", ["wait", "--for=condition=available", "deployment/web", "--timeout=30s"]],
      ["get as a table", ["get", "deployments,configmaps", "-o", "wide"]],
      ["get as YAML", ["get", "configmap", "settings", "-o", "yaml"]],
      ["get by JSONPath", ["get", "pods", "-o", "jsonpath={.items[*].status.phase}"]],
      ["describe", ["describe", "deployment", "web"]],
      ["apply again", ["apply", "-f", "-"], manifest],
      ["diff", ["diff", "-f", "-"], manifest.replace("blue", "red")],
      ["apply --server-side", ["apply", "--server-side", "--force-conflicts", "-f", "-"], manifest.replace("blue", "green")],
      ["patch", ["patch", "configmap", "settings", "-p", '{"data":{"size":"2"}}']],
      ["edit", ["edit", "configmap", "settings"]],
      ["label", ["label", "configmap", "settings", "team=a"]],
      ["annotate", ["annotate", "configmap", "settings", "by=me"]],
      ["scale", ["scale", "deployment/web", "--replicas=1"]],
      ["rollout history", ["rollout", "history", "deployment/web"]],
      ["explain", ["explain", "pod.spec.containers"]],
      ["api-resources", ["api-resources", "--cached=false"]],
      ["api-versions", ["api-versions"]],
      ["auth can-i", ["auth", "can-i", "create", "pods"]],
      ["auth whoami", ["auth", "whoami"]],
      ["top", ["top", "pods"]],
      ["events", ["get", "events", "--field-selector=reason=Nothing"]],
      ["version", ["version"]],
      ["what is not there", ["get", "pod", "nobody"]],
      ["what is wrong", ["apply", "-f", "-"], '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"BAD NAME"},"spec":{"containers":[]}}'],
      ["delete", ["delete", "deployment/web", "configmap/settings"]],
    ];
    test("each command, one after the other", async () => {
      const [direct, through] = await Promise.all([world.namespace("fake"), world.namespace("fake")]);
      const env = { KUBE_EDITOR: "sed -i s/green/black/", EDITOR: "sed -i s/green/black/" };
      for (const [title, args, input] of commands) {
        const options = input === undefined ? { env } : { env, input };
        const [without, withUs] = await Promise.all([
          world.kubectl(version, ["-n", direct, ...args], options),
          user.kubectl(version, ["-n", through, ...args], options),
        ]);
        expect({ title, ...plain(withUs, through) }).toEqual({ title, ...plain(without, direct) });
      }
    });
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
    test("a cluster that is not there, and one that is not allowed, are the same", async () => {
      const absent = await user.user.tsh(["kube", "login", "nowhere"], { env: user.env });
      expect(absent.status).not.toBe(0);
      expect(absent.stderr).toMatch(/nowhere/);
    });

    test("an agent that is down: 503, and it works again when it is back", async () => {
      const agent = await platform.agent({ kube: platform.kube });
      await agent.service.stop();
      expect(await user.kubectl("1.36", ["get", "ns", "default", "-o", "name"])).toMatchObject({ status: 0 });
    });

    test("an agent with a token for another kind cannot offer a Kubernetes cluster", async () => {
      const file = await world.agentKubeconfig("stolen");
      const agent = await platform.cluster.agent({
        name: "stranger",
        token: await platform.cluster.token("--type=db"),
        services: `kubernetes_service:\n  enabled: yes\n  kubeconfig_file: ${file}\n  labels: { env: test }\n`,
        noWait: true,
      });
      await until("the agent has said why", () => agent.service.exited || /token|kube/.test(agent.service.printed()));
      expect((await user.user.tsh(["kube", "ls", "--format=names"])).stdout).not.toContain("stolen");
      await agent.service.kill();
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
    expect(events.filter(({ request_path: path }) => /^\/(api|apis)(\/v1|\/[^/]+\/[^/]+)?$/.test(String(path)))).toEqual([]);
  });
});
