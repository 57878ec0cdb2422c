import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { audited } from "../world/audited.ts";
import type { Agent } from "../world/cluster-agent.ts";
import { freePorts } from "../world/free-port.ts";
import { busyboxPodSpec } from "../world/kubernetes/busybox-pod.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { kubectlVersions } from "../world/kubernetes/kubectl.ts";
import { because } from "../world/not-here.ts";
import { lackOf, passingBalancers, startPassingBalancer } from "../world/passing-balancer.ts";
import { type Finished, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { rows } from "../world/rounds.ts";

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
          spec: busyboxPodSpec,
        },
      },
    },
  ],
});

/**
 * What `wait` of kubectl 1.36 sometimes prints at its end, without us too: the condition is met, and the watch that it cancels reports that it was cancelled. Which of
 * the two comes first depends on the machine alone.
 */
const cancelledWatch = /^E\d{4} [\d:.]+ +\d+ reflector\.go:\d+\] "Failed to watch" err="Get .*: context canceled" .*\n/gm;

/** Address from which the proxy's balancers connect to it, and that of another program on their machine. */
const [listed, unlisted] = ["127.0.0.9", "127.0.0.8"] as const;
const everything = { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources };

await describeKube("what stock kubectl prints through us", (world) => {
  let platform: KubePlatform;
  let user: KubeUser;
  let kubePort = 0;

  beforeAll(async () => {
    [kubePort = 0] = await freePorts(1);
    platform = await KubePlatform.open(world, { proxyService: `  kube_listen_addr: 127.0.0.1:${kubePort}\n  proxy_protocol: [${listed}]\n` });
    user = await platform.user("ada", everything);
  });
  afterAll(async () => await platform?.[Symbol.asyncDispose]());

  describe("behind a balancer that passes TCP on", () => {
    let agent: Agent;
    let identity = "";
    const ports = () => ({ web: platform.cluster.ports.web, kube: kubePort });

    beforeAll(async () => {
      agent = await platform.cluster.agent({ name: "web-1", labels: { env: "test" } });
      const allow = { kubernetes_labels: { env: "test" }, ...everything, node_labels: { env: "test" }, logins: ["root"] };
      await putRole(platform.cluster, "role-of-ada", { allow });
      identity = join(platform.cluster.dir, "identity");
      await platform.cluster.admin("auth", "sign", "--user=ada", `--out=${identity}`);
    });
    afterAll(async () => await agent?.[Symbol.asyncDispose]());

    const noHaproxy = lackOf("haproxy send-proxy");
    test.skipIf(noHaproxy !== undefined)(`one that the configuration does not name gets nothing${because(noHaproxy)}`, async () => {
      await using balancer = await startPassingBalancer({ kind: "haproxy send-proxy", from: unlisted, to: ports() });
      for (const port of Object.values(balancer.ports)) {
        expect((await run("curl", ["-ksS", `https://127.0.0.1:${port}/webapi/ping`])).stderr).toMatch(/SSL|TLS/);
      }
    });

    describe.each(passingBalancers.map((kind) => ({ kind })))("$kind", ({ kind }) => {
      const lack = lackOf(kind);
      const fromHere = /^127\.0\.0\.1:\d+$/;

      test.skipIf(lack !== undefined)(
        `kubectl at the web port and that of Kubernetes, and tsh ssh: the audit log has their own addresses${because(lack)}`,
        async () => {
          await using balancer = await startPassingBalancer({ kind, from: listed, to: ports() });
          const written = await readFile(user.kubeconfig, "utf8");
          expect(written).toContain(`127.0.0.1:${kubePort}/`);
          const useKubectl = async (name: "web" | "kube"): Promise<void> => {
            const file = join(user.user.home, `balanced-${name}`);
            await writeFile(file, written.replaceAll(`127.0.0.1:${kubePort}/`, `127.0.0.1:${balancer.ports[name]}/`));
            const namespace = `${name}-${passingBalancers.indexOf(kind)}`;
            const done = await user.kubectl("1.36", ["get", "pods", "-n", namespace, "-o", "name"], { env: { KUBECONFIG: file } });
            expect(done).toMatchObject({ status: 0, stdout: "" });
            const event = await audited(platform.cluster, "kube.request", (one) => one.resource_namespace === namespace);
            expect(event["addr.remote"]).toMatch(fromHere);
          };
          const useSsh = async (): Promise<void> => {
            const args = [`--identity=${identity}`, `--proxy=127.0.0.1:${balancer.ports.web}`, "ssh", "root@web-1", "echo", kind];
            expect(await user.user.tsh(args)).toMatchObject({ status: 0, stdout: `${kind}\n` });
            const event = await audited(platform.cluster, "exec", (one) => one.command === `echo ${kind}`);
            expect(event["addr.remote"]).toMatch(fromHere);
          };
          await Promise.all([useKubectl("web"), useKubectl("kube"), useSsh()]);
        },
      );
    });
  });

  describe.each(rows(kubectlVersions, ["1.20", "1.36"]))("kubectl %s prints the same as without us", (version) => {
    /** Without how long something took: ages, times, names with a random part, and the namespace. */
    const plain = ({ stdout, stderr, status }: Finished, namespace: string): object => {
      const text = (one: string): string =>
        one
          .replaceAll(namespace, "NAMESPACE")
          .replace(/^Waiting for deployment .*\n/gm, "")
          .replace(/\b\d+(ms|s|m)(\d+s)?\b( ago)?/g, "AGE")
          .replace(/web-[0-9a-f]{8,10}(-[0-9a-z]{5})?/g, "web-HASH")
          .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UID")
          .replace(/\b10\.1\d\d\.\d+\.\d+\b/g, "POD-IP")
          .replace(/(resourceVersion: |resourceVersion":\s*)"\d+"/g, "VERSION")
          .replace(/20\d\d-\d\d-\d\d[T ][\d:.]+(Z| \+0000)|\w{3}, \d\d \w{3} 20\d\d [\d:]+ \+\d{4}/g, "TIME")
          .replace(/pod-template-hash[=:] ?"?[0-9a-f]+"?/g, "HASH")
          .replace(/\/tmp\/(LIVE|MERGED)-\d+/g, "$1")
          .replace(/ +/g, " ");
      return { status, stdout: text(stdout), stderr: text(stderr.replace(cancelledWatch, "")) };
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
      ["what is wrong", ["apply", "-f", "-"], '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"empty"},"spec":{"containers":[]}}'],
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
        expect.soft({ title, ...plain(withUs, through) }).toEqual({ title, ...plain(without, direct) });
      }
    });
  });
});
