import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { inCluster } from "../../../core/kubernetes/in-cluster.ts";
import { createLog } from "../../../core/log/log.ts";
import { type JsonObject, jsonOf, objectOf, textOf } from "../../../updater/kube/cluster/json-value.ts";
import { parseKubeSettings } from "../../../updater/kube/kube-settings.ts";
import { type ControllerDeps, serveController } from "../../../updater/kube/serve-controller.ts";
import type { ImageKey, OciRegistry } from "../oci-registry.ts";
import { start } from "../program.ts";
import { until } from "../until.ts";
import type { ApiRelay, RelayedRequest } from "./api-relay.ts";
import type { KubeWorld } from "./kube-world.ts";
import { updaterStep } from "./updater-step.ts";
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

/** Where a controller is killed: at its request of this number, or at the first one that takes this step; before it takes effect, or after it. */
export interface KillPoint {
  readonly step: number | string;
  readonly isAfter: boolean;
}

interface StartOptions extends Pick<ControllerDeps, "clock" | "sightings"> {
  /** What it takes for the API server. */
  readonly relay?: ApiRelay;
}

/** Maximum time until a controller takes the step at which it is killed, ms. */
const killMs = 60_000;

/** Which release it updates. */
interface Place {
  readonly namespace: string;
  readonly kind: "statefulset" | "deployment";
}

/** The updater of a release: in this process, or as a process of its own. */
export class ReleaseUpdater {
  readonly #parts: ReleaseParts;
  readonly #place: Place;
  /** Folder of those that are killed. */
  #killed: string | undefined;

  constructor(parts: ReleaseParts, place: Place) {
    this.#parts = parts;
    this.#place = place;
  }

  /** A folder with what Kubernetes puts into the updater's pod. */
  async #account(relay: ApiRelay | undefined): Promise<string> {
    const { world, folder } = this.#parts;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const { status } = await world.api.must("POST", `/api/v1/namespaces/${this.#place.namespace}/serviceaccounts/agent-updater/token`, request);
    const place = join(folder, `${this.#place.namespace}-${relay === undefined ? "direct" : new URL(relay.url).port}`);
    await mkdir(place, { recursive: true });
    await Promise.all([
      writeFile(join(place, "token"), status?.token ?? ""),
      writeFile(join(place, "ca.crt"), relay?.ca ?? world.ca),
      writeFile(join(place, "namespace"), this.#place.namespace),
      writeFile(join(place, "key.pem"), this.#parts.key.pem),
    ]);
    return place;
  }

  /** The command line as the chart writes it. */
  #flags(account: string): readonly string[] {
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
  #env(relay: ApiRelay | undefined): Readonly<Record<string, string>> {
    const { hostname, port } = new URL(relay?.url ?? this.#parts.world.apiServerUrl);
    return { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  }

  /** The controller as a process of its own; its standard error is its log. */
  async #spawn(relay: ApiRelay): Promise<ChildProcess> {
    const program = join(this.#parts.folder, "call-updater.cjs");
    // One file of JavaScript starts in a fraction of the time that the sources take.
    const entry = join(import.meta.dirname, "call-updater.ts");
    if (!existsSync(program))
      await build({ entryPoints: [entry], outfile: program, bundle: true, platform: "node", format: "cjs", logLevel: "error" });
    this.#killed ??= await this.#account(relay);
    return start(process.execPath, [program, this.#killed, ...this.#flags(this.#killed)], { env: this.#env(relay) });
  }

  /** Starts one as a process of its own and kills it at a request; the request. */
  async killAt(relay: ApiRelay, { step, isAfter }: KillPoint): Promise<RelayedRequest> {
    const child = await this.#spawn(relay);
    const closed = once(child, "close", { signal: AbortSignal.timeout(killMs) });
    const log: Buffer[] = [];
    child.stderr?.on("data", (chunk: Buffer) => log.push(chunk));
    let count = 0;
    let last: RelayedRequest | undefined;
    relay.passage = async (request, forward) => {
      count += 1;
      if (last !== undefined) return undefined;
      if (count !== step && updaterStep(request) !== step) return await forward();
      last = request;
      if (isAfter) (await forward()).resume();
      child.kill("SIGKILL");
      return undefined;
    };
    try {
      await closed;
      if (last !== undefined) return last;
      throw new Error("it has ended by itself");
    } catch (cause) {
      throw new Error(`the controller was not killed at ${step} (requests: ${count}): ${Buffer.concat(log).toString()}`, { cause });
    } finally {
      child.kill("SIGKILL");
      relay.passage = undefined;
    }
  }

  async start(more: readonly string[] = [], { relay, ...deps }: StartOptions = {}): Promise<RunningUpdater> {
    const account = await this.#account(relay);
    const lines: JsonObject[] = [];
    const stop = new AbortController();
    const log = createLog({ level: "debug", format: "json", write: (line) => lines.push(objectOf(jsonOf(line))) });
    const pod = await inCluster(this.#env(relay), { folder: account });
    const settings = parseKubeSettings([...this.#flags(account), ...more]);
    const running = serveController(settings, { pod, env: {}, log, signal: stop.signal, ...deps });
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
