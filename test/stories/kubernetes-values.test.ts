import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { helm } from "../world/kubernetes/kubectl.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { run } from "../world/program.ts";

/** What helm makes of values of the chart, for the oldest and the newest Kubernetes. */

const chart = resolve(import.meta.dirname, "../../charts/platform-kube-agent");
const tool = await ifPossible(() => helm());
const skip = tool instanceof NotHere ? ` (skipped: ${tool.message})` : "";
const basic = { proxyAddr: "access.example.com:3443", authToken: "0123456789abcdef", kubeClusterName: "prod" };
const updater = { enterprise: true, updater: { enabled: true, publicKeys: "-----BEGIN PUBLIC KEY-----\n" } };
let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-kube-values-"));
});
afterAll(async () => await rm(dir, { recursive: true, force: true }));

type Texts = Readonly<Record<string, string>>;

interface ContainerPort {
  readonly name: string;
  readonly containerPort: number;
}

/** An object as helm printed it: what the tests read of those that have it. */
interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Texts };
  readonly data: Texts;
  readonly stringData: Texts;
  readonly spec: {
    readonly egress: readonly { readonly ports: readonly { readonly protocol: string; readonly port: number }[] }[];
    readonly ingress: unknown;
    readonly podSelector: {
      readonly matchLabels: Texts;
      readonly matchExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
    };
    readonly template: {
      readonly metadata: { readonly labels: Texts };
      readonly spec: {
        readonly containers: readonly { readonly args: readonly string[]; readonly ports: readonly ContainerPort[] }[];
        readonly volumes: readonly unknown[];
      };
    };
    /** Of a Service: labels of its pods; of a ServiceMonitor: those of its Services. */
    readonly selector: Texts & { readonly matchLabels: Texts };
    readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[];
    readonly endpoints: readonly { readonly port: string; readonly interval: string }[];
  };
}

async function template(values: object, { release = "agent", namespace = "access", version = "1.36.0" } = {}) {
  if (tool instanceof NotHere) throw tool;
  const file = join(dir, "values.json");
  await writeFile(file, JSON.stringify(values));
  const options = ["--namespace", namespace, "--values", file, "--kube-version", version, "--api-versions", "monitoring.coreos.com/v1"];
  return await run(tool, ["template", release, chart, ...options], { env: { HOME: dir, PATH: process.env.PATH ?? "" } });
}

/** The rendered objects. Kubernetes reads YAML 1.1, in which `yes` is a boolean and `1e5` a number. */
async function render(...[values, options]: Parameters<typeof template>): Promise<Rendered[]> {
  const { status, stdout, stderr } = await template(values, options);
  expect(status, stderr).toBe(0);
  return parseAllDocuments(stdout, { version: "1.1" }).flatMap((document) => {
    expect(document.errors).toEqual([]);
    const object: Rendered | null = document.toJS();
    return object === null ? [] : [object];
  });
}

function named(objects: readonly Rendered[], kind: string, name?: string): Rendered {
  const found = objects.find((object) => object.kind === kind && (name === undefined || object.metadata.name === name));
  if (found === undefined) throw new Error(`helm has printed no ${kind} ${name ?? ""}`);
  return found;
}

/** Places of values that are not texts where Kubernetes wants texts: names, labels, annotations, arguments, environments. */
function notTexts(value: unknown, path: string): string[] {
  const isText =
    /(name|Name|namespace|key|value|secretName|audience|interval|storage|image|args\.\d+|(labels|Labels|annotations|stringData)\.[^.]+(\.[a-z./-]+)?)$/;
  if (typeof value !== "object" || value === null) return isText.test(path) && typeof value !== "string" ? [`${path}: ${String(value)}`] : [];
  return Object.entries(value).flatMap(([key, one]) => notTexts(one, `${path}.${key}`));
}

describe.skipIf(tool instanceof NotHere)(`values of the chart${skip}`, () => {
  test.for(["1.20.2", "1.36.0"].flatMap((version) => ["null", "true", "yes", "on", "off"].map((text) => [text, version] as const)))(
    "that look like something else stay texts: %s, for Kubernetes %s",
    async ([text, version]) => {
      const values = {
        ...basic,
        ...{ authToken: "1e5", kubeClusterName: text, platformClusterName: text, labels: { a: text, b: "123", c: "1e5" } },
        ...{ enterprise: true, updater: { ...updater.updater, releaseChannel: text, pullSecret: text, serviceAccount: { name: "1e5" } } },
        ...{ tls: { existingCASecretName: "1e5", existingCASecretKeyName: "1.0" }, joinTokenSecret: { name: "123" } },
        ...{ serviceAccount: { name: text }, storage: { enabled: true, storageClassName: text }, priorityClassName: text },
        ...{ extraLabels: { pod: { a: text } }, annotations: { pod: { a: text, b: "1e5" } }, extraEnv: [{ name: "A", value: text }] },
        ...{ highAvailability: { replicaCount: 2 }, serviceMonitor: { enabled: true }, networkPolicy: { enabled: true } },
        ...{ terminationGracePeriodSeconds: 2_000_000 },
      };
      const objects = await render(values, { release: text, namespace: "123", version });
      expect(objects.flatMap((object) => notTexts(object, object.kind))).toEqual([]);
      const set = named(objects, "StatefulSet");
      expect(set.metadata.name).toBe(text);
      expect(set.spec.template.spec).toMatchObject({ serviceAccountName: text, terminationGracePeriodSeconds: 2_000_000 });
      expect(named(objects, "Secret", "123").stringData["auth-token"]).toBe("1e5");
      expect(named(objects, "Deployment").spec.template.spec.containers[0]?.args).toContain(`--channel=${text}`);
      const config = parseAllDocuments(named(objects, "ConfigMap", text).data["platform.yaml"] ?? "")[0]?.toJS();
      expect(config.kubernetes_service).toMatchObject({ kube_cluster_name: text, labels: { a: text, b: "123", c: "1e5" } });
    },
  );

  test.for<readonly [name: string, values: object, release: string, reason: RegExp]>([
    ["a number as the cluster's name", { kubeClusterName: 123 }, "agent", /kubeClusterName.*(string|number)/s],
    ["a number as the token", { authToken: 100_000 }, "agent", /authToken.*(string|number)/s],
    ["a boolean as a label", { labels: { a: true } }, "agent", /labels.*(string|boolean)/s],
    ["a release whose name is a number", {}, "123", /begins with a letter.*fullnameOverride/s],
    ["a release with a dot", {}, "my.agent", /begins with a letter.*fullnameOverride/s],
    ["capital letters", { fullnameOverride: "Agent" }, "agent", /begins with a letter.*fullnameOverride/s],
  ])("%s is refused with a reason", async ([, values, release, reason]) => {
    const { status, stderr } = await template({ ...basic, ...values }, { release });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(reason);
  });

  const isSelected = (labels: Texts, by: Texts): boolean => Object.entries(by).every(([name, value]) => labels[name] === value);
  const portsOf = (policy: Rendered): string[] => policy.spec.egress.flatMap(({ ports }) => ports.map(({ protocol, port }) => `${protocol} ${port}`));

  test("the network policies let through what each program needs, and nothing else", async () => {
    const values = {
      ...basic,
      ...{ enterprise: true, image: { repository: "registry.example.com:5000/p" }, networkPolicy: { enabled: true, apiServerPorts: [6443] } },
      updater: { ...updater.updater, versionServer: "versions.example.com:8443/v1", extraEnv: [{ name: "https_proxy", value: "proxy.corp:8080" }] },
      extraEnv: [
        { name: "HTTPS_PROXY", value: "http://user:123@proxy.corp:3128/" },
        { name: "HTTP_PROXY", value: "https://proxy.corp" },
        { name: "OTHER", value: "http://other.corp:99" },
        { name: "http_proxy", valueFrom: { secretKeyRef: { name: "a", key: "b" } } },
      ],
    };
    const objects = await render(values);
    const dns = ["UDP 53", "TCP 53"];
    expect(portsOf(named(objects, "NetworkPolicy", "agent"))).toEqual([...dns, "TCP 3443", "TCP 3128", "TCP 443", "TCP 6443"]);
    expect(portsOf(named(objects, "NetworkPolicy", "agent-updater"))).toEqual([...dns, "TCP 3443", "TCP 5000", "TCP 8443", "TCP 8080", "TCP 6443"]);
    for (const object of objects.filter(({ kind }) => kind === "Pod" || kind === "StatefulSet" || kind === "Deployment")) {
      const labels = object.kind === "Pod" ? object.metadata.labels : object.spec.template.metadata.labels;
      const isChosen = ({ spec: { podSelector } }: Rendered): boolean =>
        isSelected(labels, podSelector.matchLabels) &&
        (podSelector.matchExpressions ?? []).every(({ key, values: allowed }) => allowed.includes(labels[key] ?? ""));
      const chosen = objects.filter(({ kind }) => kind === "NetworkPolicy").filter(isChosen);
      expect(chosen.map(({ metadata }) => metadata.name)).toEqual([object.kind === "Deployment" ? "agent-updater" : "agent"]);
    }
    const plain = await render({ ...basic, networkPolicy: { enabled: true, metricsFrom: [{ podSelector: {} }] } });
    expect(portsOf(named(plain, "NetworkPolicy"))).toEqual([...dns, "TCP 3443", "TCP 443", "TCP 6443"]);
    expect(named(plain, "NetworkPolicy").spec.ingress).toEqual([{ from: [{ podSelector: {} }], ports: [{ protocol: "TCP", port: 3000 }] }]);
    expect(plain.filter(({ kind }) => kind === "NetworkPolicy")).toHaveLength(1);
  });

  test("each ServiceMonitor leads to the metrics of one program, by a port that the network policy opens", async () => {
    const serviceMonitor = { enabled: true, interval: "15s", additionalLabels: { release: "prometheus" } };
    const networkPolicy = { enabled: true, metricsFrom: [{ podSelector: {} }] };
    const objects = await render({ ...basic, ...updater, serviceMonitor, networkPolicy });
    const services = objects.filter(({ kind }) => kind === "Service");
    const pods = objects.filter(({ kind }) => kind === "StatefulSet" || kind === "Deployment").map(({ spec }) => spec.template);
    const found = objects
      .filter(({ kind }) => kind === "ServiceMonitor")
      .map(({ metadata, spec }) => {
        expect(metadata.labels.release).toBe("prometheus");
        const [service, ...others] = services.filter((one) => isSelected(one.metadata.labels, spec.selector.matchLabels));
        const [pod, ...more] = pods.filter((one) => isSelected(one.metadata.labels, service?.spec.selector ?? {}));
        expect([others, more]).toEqual([[], []]);
        const [endpoint] = spec.endpoints;
        const port = service?.spec.ports.find(({ name }) => name === endpoint?.port);
        const container = pod?.spec.containers.flatMap(({ ports }) => ports).find(({ name }) => name === port?.targetPort);
        const policy = named(objects, "NetworkPolicy", metadata.name);
        expect(isSelected(pod?.metadata.labels ?? {}, policy.spec.podSelector.matchLabels)).toBe(true);
        expect(policy.spec.ingress).toEqual([{ from: [{ podSelector: {} }], ports: [{ protocol: "TCP", port: container?.containerPort }] }]);
        return [metadata.name, port?.port, container?.containerPort, endpoint?.interval];
      });
    expect(found).toEqual([
      ["agent", 3000, 3000, "15s"],
      ["agent-updater", 8080, 8080, "15s"],
    ]);
    const without = await render({ ...basic, ...updater });
    expect(without.filter(({ kind }) => kind.startsWith("Service") && kind !== "ServiceAccount").map(({ metadata }) => metadata.name)).toEqual([
      "agent",
    ]);
    const alone = await render({ ...basic, serviceMonitor });
    expect(alone.filter(({ kind }) => kind === "ServiceMonitor")).toHaveLength(1);
  });

  test("a Kubernetes older than 1.20 is refused", async () => {
    const { status, stderr } = await template(basic, { version: "1.19.16" });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/requires kubeVersion: >=1\.20\.0-0/);
  });

  test("key files are mounted as they are given, and the program can read them", async () => {
    const publicKeys = "  -----BEGIN PUBLIC KEY-----\nb25l\n-----END PUBLIC KEY-----\n\n-----BEGIN PUBLIC KEY-----\ndHdv\n-----END PUBLIC KEY-----";
    const tls = { existingCASecretName: "ca", existingCASecretKeyName: "my.own.ca.crt" };
    const values = { ...basic, enterprise: true, updater: { ...updater.updater, publicKeys, pullSecret: "pull" }, tls };
    for (const [context, mode] of [
      [{}, 0o440],
      [{ fsGroup: null }, 0o444],
    ] as const) {
      const objects = await render({ ...values, podSecurityContext: context });
      expect(named(objects, "ConfigMap", "agent-updater").data["image-keys.pem"]).toBe(publicKeys);
      const volumes = (kind: string): readonly unknown[] => named(objects, kind).spec.template.spec.volumes;
      const ca = { name: "ca", secret: { secretName: "ca", items: [{ key: "my.own.ca.crt", path: "ca.pem" }] } };
      expect(volumes("StatefulSet")).toContainEqual(ca);
      expect(volumes("Deployment")).toContainEqual(ca);
      expect(volumes("StatefulSet")).toContainEqual({ name: "join", secret: { secretName: "agent-join-token", defaultMode: mode } });
      expect(volumes("Deployment")).toContainEqual({
        name: "pull",
        secret: { secretName: "pull", defaultMode: mode, items: [{ key: ".dockerconfigjson", path: "config.json" }] },
      });
    }
  });
});
