import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { inCluster } from "../../../core/kubernetes/in-cluster.ts";
import { createLog } from "../../../core/log/log.ts";
import { type JsonObject, jsonOf, listOf, objectOf, textOf } from "../../../updater/kube/json-value.ts";
import { parseKubeSettings } from "../../../updater/kube/kube-settings.ts";
import { type ControllerDeps, serveController } from "../../../updater/kube/serve-controller.ts";
import type { ImageKey, OciRegistry } from "../oci-registry.ts";
import { output, start } from "../program.ts";
import { until } from "../until.ts";
import { mergePatch } from "./kube-api.ts";
import type { KubeWorld } from "./kube-world.ts";
import { helm } from "./kubectl.ts";
import { type SeenWorkload, seeWorkload, workloadReaches } from "./seen-workload.ts";
import type { VersionSite } from "./version-site.ts";

const chart = resolve(import.meta.dirname, "../../../charts/platform-kube-agent");

export interface ReleaseParts {
  readonly world: KubeWorld;
  readonly site: VersionSite;
  readonly registry: OciRegistry;
  readonly key: ImageKey;
  readonly folder: string;
}

/** How the pods of a release are managed: as the chart does it, as older releases did, or as a Deployment, which a chart of one's own may have. */
type Policy = "Parallel" | "OrderedReady" | "Deployment";

export interface ReleaseShape {
  readonly replicas?: number;
  readonly policy?: Policy;
}

/** A controller that runs in this process. */
export interface RunningUpdater extends AsyncDisposable {
  /** Its log so far: one object a line. */
  readonly lines: readonly JsonObject[];
  /** `host:port` of its probes and of its metrics. */
  readonly health: string;
  readonly metrics: string;
}

const windowOf = (start: number, stop: number): string => {
  const time = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
  return Buffer.from(JSON.stringify({ windows: [{ start: time(start), stop: time(stop) }] })).toString("base64");
};

/** The chart's Parallel lets the controller of StatefulSets replace broken pods. Pure. */
function shaped(objects: string, policy: Policy): string {
  if (policy !== "Deployment") return objects.replace("podManagementPolicy: Parallel", `podManagementPolicy: ${policy}`);
  return objects
    .replace("kind: StatefulSet", "kind: Deployment")
    .replace(/^ {2}(serviceName|podManagementPolicy):.*\n/gm, "")
    .replaceAll("resources: [statefulsets]", "resources: [deployments]");
}

/** A release of the chart in a namespace of its own, on the node without containers: agents are pods that are ready, or as their image says. */
export class UpdaterRelease {
  readonly namespace: string;
  readonly #parts: ReleaseParts;
  readonly #kind: "statefulset" | "deployment";
  readonly #place: string;

  private constructor(parts: ReleaseParts, namespace: string, kind: "statefulset" | "deployment") {
    this.#parts = parts;
    this.namespace = namespace;
    this.#kind = kind;
    this.#place = `/apis/apps/v1/namespaces/${namespace}/${kind}s/agent`;
  }

  /** Renders and applies the chart, and waits until its pods are ready. */
  static async install(parts: ReleaseParts, { replicas = 3, policy = "Parallel" }: ReleaseShape = {}): Promise<UpdaterRelease> {
    const release = new UpdaterRelease(parts, await parts.world.namespace("fake"), policy === "Deployment" ? "deployment" : "statefulset");
    await release.#apply(replicas, policy);
    await until("the release is ready", async () => (await release.see()).isSettled);
    return release;
  }

  /** Objects of the chart as `kubectl apply` has them, without the updater's own Deployment, which runs in the test. */
  async #apply(replicas: number, policy: Policy): Promise<void> {
    const { world, site, registry, key, folder } = this.#parts;
    const values = {
      proxyAddr: site.address,
      enterprise: true,
      kubeClusterName: "prod",
      authToken: "0123456789abcdef0123456789abcdef",
      image: { repository: `${registry.host}/p`, tag: "1.0.0" },
      updater: { enabled: true, publicKeys: key.pem },
      highAvailability: { replicaCount: replicas, podDisruptionBudget: { enabled: true, minAvailable: Math.max(1, replicas) } },
      terminationGracePeriodSeconds: 0,
    };
    const file = join(folder, `${this.namespace}.json`);
    await writeFile(file, JSON.stringify(values));
    const rendered = await output(await helm(), [
      "template",
      "agent",
      chart,
      "--kube-version",
      "1.20.2",
      "--namespace",
      this.namespace,
      "--values",
      file,
    ]);
    const documents = rendered
      .split(/^---$/m)
      .filter((text) => !/^kind: (Deployment|NetworkPolicy|ServiceMonitor)$/m.test(text) && !text.includes("helm.sh/hook"));
    const input = shaped(documents.join("---\n"), policy);
    const applied = await world.kubectl("1.20", ["apply", "--namespace", this.namespace, "-f", "-"], { input });
    if (applied.status !== 0) throw new Error(`kubectl apply: ${applied.stderr}`);
  }

  async see(): Promise<SeenWorkload> {
    return await seeWorkload(this.#parts.world.api, this.#place);
  }

  /** Waits until the updater's last result is this one. */
  async reaches(reason: string, limitMs?: number): Promise<SeenWorkload> {
    return await workloadReaches(this.#parts.world.api, this.#place, reason, limitMs);
  }

  async annotate(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.#parts.world.api.must("PATCH", this.#place, { metadata: { annotations } }, mergePatch);
  }

  /** As an admin or another tool does it. */
  async setImage(image: string): Promise<void> {
    const patch = { spec: { template: { spec: { containers: [{ name: "platform", image }] } } } };
    await this.#parts.world.api.must("PATCH", this.#place, patch, "application/strategic-merge-patch+json");
  }

  /** Writes what agents write: the windows, in hours from now, the cluster's keys, their ids. */
  async share({
    window = "open",
    hosts = {},
  }: {
    window?: "open" | "closed" | "past" | "none";
    hosts?: Readonly<Record<string, string>>;
  } = {}): Promise<void> {
    const { world, site } = this.#parts;
    const schedule = { open: windowOf(-1, 1), closed: windowOf(24, 25), past: windowOf(-25, -24), none: "" }[window];
    const ids = Object.entries(hosts).map(([pod, id]) => [`agent-host.${pod}`, Buffer.from(id).toString("base64")]);
    const data = {
      "agent-maintenance-schedule": schedule,
      "agent-authorities": Buffer.from(`${site.authority}\n`).toString("base64"),
      ...Object.fromEntries(ids),
    };
    await world.api.must("PATCH", `/api/v1/namespaces/${this.namespace}/secrets/agent-shared-state`, { data }, mergePatch);
  }

  /** Takes the lease away from a controller that was killed. */
  async forgetLease(): Promise<void> {
    await this.#parts.world.api.ask("DELETE", `/apis/coordination.k8s.io/v1/namespaces/${this.namespace}/leases/agent`);
  }

  /** Reasons and messages of the Events that the updater has recorded, by name. */
  async events(): Promise<readonly string[]> {
    const { items } = await this.#parts.world.api.must("GET", `/api/v1/namespaces/${this.namespace}/events`);
    return listOf(items)
      .map(objectOf)
      .filter((event) => objectOf(event.source).component === "platform-updater")
      .map((event) => `${textOf(event.reason)}: ${textOf(event.message)}`)
      .toSorted();
  }

  /** A folder with what Kubernetes puts into the updater's pod. */
  async account(): Promise<string> {
    const { world, folder } = this.#parts;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const { status } = await world.api.must("POST", `/api/v1/namespaces/${this.namespace}/serviceaccounts/agent-updater/token`, request);
    const place = join(folder, this.namespace);
    await mkdir(place, { recursive: true });
    await Promise.all([
      writeFile(join(place, "token"), status?.token ?? ""),
      writeFile(join(place, "ca.crt"), world.ca),
      writeFile(join(place, "namespace"), this.namespace),
      writeFile(join(place, "key.pem"), this.#parts.key.pem),
    ]);
    return place;
  }

  /** The command line as the chart writes it. */
  flags(account: string): readonly string[] {
    const { site, registry } = this.#parts;
    const place = [
      "--agent-name=agent",
      `--agent-namespace=${this.namespace}`,
      `--agent-kind=${this.#kind}`,
      `--proxy-address=${site.address}`,
      `--ca=${site.ca}`,
    ];
    return [
      ...place,
      `--public-key=${join(account, "key.pem")}`,
      `--registry-plain=${registry.host}`,
      "--metrics-addr=127.0.0.1:0",
      "--healthz-addr=127.0.0.1:0",
    ];
  }

  /** Environment of the pod. */
  get env(): Readonly<Record<string, string>> {
    const { hostname, port } = new URL(this.#parts.world.apiServerUrl);
    return { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  }

  /** The controller as a process of its own; its standard error is its log. */
  async spawn(account: string): Promise<ChildProcess> {
    const program = join(account, "call-updater.cjs");
    // One file of JavaScript starts in a fraction of the time that the sources take.
    const entry = join(import.meta.dirname, "call-updater.ts");
    if (!existsSync(program))
      await build({ entryPoints: [entry], outfile: program, bundle: true, platform: "node", format: "cjs", logLevel: "error" });
    return start(process.execPath, [program, account, ...this.flags(account)], { env: this.env });
  }

  async start(more: readonly string[] = [], { clock }: Pick<ControllerDeps, "clock"> = {}): Promise<RunningUpdater> {
    const account = await this.account();
    const lines: JsonObject[] = [];
    const stop = new AbortController();
    const log = createLog({ level: "debug", format: "json", write: (line) => lines.push(objectOf(jsonOf(line))) });
    const pod = await inCluster(this.env, { folder: account });
    const running = serveController(parseKubeSettings([...this.flags(account), ...more]), {
      pod,
      env: {},
      log,
      signal: stop.signal,
      ...(clock && { clock }),
    });
    const begun = await Promise.race([
      running.then(() => undefined),
      until("the controller runs", () => lines.find(({ event }) => event === "the Kubernetes updater runs")),
    ]);
    return {
      lines,
      health: textOf(begun?.healthz),
      metrics: textOf(begun?.metrics),
      [Symbol.asyncDispose]: async () => {
        stop.abort();
        await running;
      },
    };
  }
}
