import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { inCluster } from "../../../core/kubernetes/in-cluster.ts";
import { createLog } from "../../../core/log/log.ts";
import { type JsonObject, jsonOf, objectOf, textOf } from "../../../updater/kube/json-value.ts";
import { parseKubeSettings } from "../../../updater/kube/kube-settings.ts";
import { type ControllerDeps, serveController } from "../../../updater/kube/serve-controller.ts";
import type { ImageKey, OciRegistry } from "../oci-registry.ts";
import { start } from "../program.ts";
import { until } from "../until.ts";
import type { KubeWorld } from "./kube-world.ts";
import type { VersionSite } from "./version-site.ts";

/** What a release and its updater need. */
export interface ReleaseParts {
  readonly world: KubeWorld;
  readonly site: VersionSite;
  readonly registry: OciRegistry;
  readonly key: ImageKey;
  readonly folder: string;
}

/** A controller that runs in this process. */
export interface RunningUpdater extends AsyncDisposable {
  /** Its log so far: one object a line. */
  readonly lines: readonly JsonObject[];
  /** `host:port` of its probes and of its metrics. */
  readonly health: string;
  readonly metrics: string;
}

/** Which release it updates. */
interface Place {
  readonly namespace: string;
  readonly kind: "statefulset" | "deployment";
}

/** The updater of a release: in this process, or as a process of its own. */
export class ReleaseUpdater {
  readonly #parts: ReleaseParts;
  readonly #place: Place;

  constructor(parts: ReleaseParts, place: Place) {
    this.#parts = parts;
    this.#place = place;
  }

  /** A folder with what Kubernetes puts into the updater's pod. */
  async account(): Promise<string> {
    const { world, folder } = this.#parts;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const { status } = await world.api.must("POST", `/api/v1/namespaces/${this.#place.namespace}/serviceaccounts/agent-updater/token`, request);
    const place = join(folder, this.#place.namespace);
    await mkdir(place, { recursive: true });
    await Promise.all([
      writeFile(join(place, "token"), status?.token ?? ""),
      writeFile(join(place, "ca.crt"), world.ca),
      writeFile(join(place, "namespace"), this.#place.namespace),
      writeFile(join(place, "key.pem"), this.#parts.key.pem),
    ]);
    return place;
  }

  /** The command line as the chart writes it. */
  flags(account: string): readonly string[] {
    const { site, registry } = this.#parts;
    const place = [
      "--agent-name=agent",
      `--agent-namespace=${this.#place.namespace}`,
      `--agent-kind=${this.#place.kind}`,
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
  async #spawn(account: string): Promise<ChildProcess> {
    const program = join(account, "call-updater.cjs");
    // One file of JavaScript starts in a fraction of the time that the sources take.
    const entry = join(import.meta.dirname, "call-updater.ts");
    if (!existsSync(program))
      await build({ entryPoints: [entry], outfile: program, bundle: true, platform: "node", format: "cjs", logLevel: "error" });
    return start(process.execPath, [program, account, ...this.flags(account)], { env: this.env });
  }

  /** Kills one with its first log line, or so many ms after it. */
  async startAndKill(account: string, afterMs: number): Promise<void> {
    const child = await this.#spawn(account);
    await once(child.stderr ?? process.stderr, "data");
    await sleep(afterMs);
    child.kill("SIGKILL");
    await once(child, "close");
  }

  async start(more: readonly string[] = [], { sightings }: Pick<ControllerDeps, "sightings"> = {}): Promise<RunningUpdater> {
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
      ...(sightings && { sightings }),
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
