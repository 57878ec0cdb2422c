import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { busyboxPodSpec } from "../world/kubernetes/busybox-pod.ts";
import { describeKube } from "../world/kubernetes/describe-kube.ts";
import { allResources, KubePlatform, type KubeUser } from "../world/kubernetes/kube-platform.ts";
import { kubectlVersions } from "../world/kubernetes/kubectl.ts";
import type { Finished } from "../world/program.ts";
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

await describeKube("what stock kubectl prints through us", (world) => {
  let platform: KubePlatform;
  let user: KubeUser;

  beforeAll(async () => {
    platform = await KubePlatform.open(world);
    user = await platform.user("ada", { kubernetes_groups: ["system:masters"], kubernetes_resources: allResources });
  });
  afterAll(async () => await platform?.[Symbol.asyncDispose]());

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
