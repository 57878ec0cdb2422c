import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { listOf, objectOf, textOf } from "../../../updater/kube/cluster/json-value.ts";
import { output } from "../program.ts";
import { until } from "../until.ts";
import { mergePatch } from "./kube-api.ts";
import { helm } from "./kubectl.ts";
import { type ReleaseParts, ReleaseUpdater } from "./release-updater.ts";
import { type SeenWorkload, seeWorkload, workloadReaches } from "./seen-workload.ts";

const chart = resolve(import.meta.dirname, "../../../charts/platform-kube-agent");

/** How the pods of a release are managed: as the chart does it, as older releases did, or as a Deployment, which a chart of one's own may have. */
type Policy = "Parallel" | "OrderedReady" | "Deployment";

export interface ReleaseShape {
  readonly replicas?: number;
  readonly policy?: Policy;
}

/** Something that looks at the workload all the time. */
export interface Watch<T> extends AsyncDisposable {
  /** Ends it, with what it has found. */
  end(): Promise<T>;
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
  readonly updater: ReleaseUpdater;
  readonly #parts: ReleaseParts;
  readonly #place: string;
  /** Its objects, as a GitOps tool keeps them. */
  #manifest = "";
  #triggers = 0;

  private constructor(parts: ReleaseParts, namespace: string, kind: "statefulset" | "deployment") {
    this.#parts = parts;
    this.namespace = namespace;
    this.updater = new ReleaseUpdater(parts, { namespace, kind });
    this.#place = `/apis/apps/v1/namespaces/${namespace}/${kind}s/agent`;
  }

  /** Renders and applies the chart, and waits until its pods are ready. */
  static async install(parts: ReleaseParts, { replicas = 3, policy = "Parallel" }: ReleaseShape = {}): Promise<UpdaterRelease> {
    const release = new UpdaterRelease(parts, await parts.world.namespace("fake"), policy === "Deployment" ? "deployment" : "statefulset");
    release.#manifest = await release.#render(replicas, policy);
    await release.apply();
    await release.becomes("the release is ready", ({ isSettled }) => isSettled);
    return release;
  }

  /** Objects of the chart without the updater's own Deployment, which runs in the test. */
  async #render(replicas: number, policy: Policy): Promise<string> {
    const { site, registry, key, folder } = this.#parts;
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
    return shaped(documents.join("---\n"), policy);
  }

  /** Applies the whole release as it was installed, with 1.0.0, as GitOps tools do again and again. */
  async apply(): Promise<void> {
    const input = this.#manifest;
    const applied = await this.#parts.world.kubectl("1.20", ["apply", "--namespace", this.namespace, "-f", "-"], { input });
    if (applied.status !== 0) throw new Error(`kubectl apply: ${applied.stderr}`);
  }

  async see(): Promise<SeenWorkload> {
    return await seeWorkload(this.#parts.world.api, this.#place);
  }

  /** Waits until the workload is as wanted. */
  async becomes(what: string, fits: (seen: SeenWorkload) => boolean): Promise<SeenWorkload> {
    return await until(what, async () => {
      const seen = await this.see();
      return fits(seen) ? seen : undefined;
    });
  }

  /** Waits until the updater's last result is this one. */
  async reaches(reason: string, limitMs?: number): Promise<SeenWorkload> {
    return await workloadReaches(this.#parts.world.api, this.#place, reason, limitMs);
  }

  /** The lowest number of ready pods from now on. */
  watchReady(): Watch<number> {
    return this.#watch(Number.POSITIVE_INFINITY, (lowest, { ready }) => Math.min(lowest, ready));
  }

  /** Another tool, which applies the release whenever its image is another one: how often it did. */
  setBack(): Watch<number> {
    return this.#watch(0, async (count, { image }) => {
      if (this.#manifest.includes(image)) return count;
      await this.apply();
      return count + 1;
    });
  }

  #watch<T>(first: T, next: (before: T, seen: SeenWorkload) => T | Promise<T>): Watch<T> {
    const stop = new AbortController();
    const watching = (async () => {
      let found = first;
      while (!stop.signal.aborted) found = await next(found, await this.see());
      return found;
    })();
    const end = async (): Promise<T> => {
      stop.abort();
      return await watching;
    };
    return { end, [Symbol.asyncDispose]: async () => void (await end()) };
  }

  async annotate(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.#parts.world.api.must("PATCH", this.#place, { metadata: { annotations } }, mergePatch);
  }

  /** Wakes the updater, as a person does who cannot wait. */
  async trigger(): Promise<void> {
    this.#triggers += 1;
    await this.annotate({ "debug.platform.dev/trigger-event": `${this.#triggers}` });
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
}
