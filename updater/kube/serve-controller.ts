import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { readPublicKeys } from "../../core/kubernetes/image-signature.ts";
import type { InCluster } from "../../core/kubernetes/in-cluster.ts";
import { KubernetesApi } from "../../core/kubernetes/kubernetes-api.ts";
import type { Log } from "../../core/log/log.ts";
import { trustedRoots } from "../../core/transport/dial/start-tls.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import { version } from "../../core/versions/version.ts";
import { askWanted } from "./ask-wanted.ts";
import { KubeCluster } from "./cluster/kube-cluster.ts";
import { Leader } from "./cluster/leader.ts";
import { LeaseObject } from "./cluster/lease.ts";
import { watchWorkload } from "./cluster/watch-workload.ts";
import { ControllerState } from "./controller-state.ts";
import { checkImage } from "./images/check-image.ts";
import { RegistryReader } from "./images/registry.ts";
import type { KubeSettings } from "./kube-settings.ts";
import { Reconciler } from "./reconcile.ts";
import { serveProbes } from "./serve-probes.ts";
import { Sightings } from "./update/sightings.ts";
import type { UpdateWorld } from "./update/update-run.ts";

export interface ControllerDeps {
  /** The cluster that this controller is a pod of. */
  readonly pod: InCluster;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Default: the machine's. */
  readonly clock?: { readonly wall: () => Date; readonly steady: () => number };
  /** Default: by that clock. */
  readonly sightings?: Sightings;
}

const machineClock = { wall: () => new Date(), steady: () => performance.now() };

/** Election, watch and runs, until aborted. Throws PlatformError if it cannot start. */
export async function serveController(settings: KubeSettings, deps: ControllerDeps): Promise<void> {
  const { pod, env, log, signal, clock = machineClock, sightings = new Sightings(clock.steady) } = deps;
  const { name, container, kind } = settings;
  const namespace = settings.namespace ?? pod.namespace;
  // A misspelt file must be found at the start, not in the maintenance window.
  await readKeys(settings);
  await using runRequests = new KubernetesApi(pod);
  // Apart from the others: a renewal must not wait for a slow list.
  await using leaseRequests = new KubernetesApi(pod);
  const cluster = new KubeCluster({ requests: runRequests, namespace, name, container, kind });
  const lease = new LeaseObject(leaseRequests, { namespace, name });
  const leader = new Leader({ lease, me: `${hostname()}_${randomUUID()}`, log, clock, heard: (answered) => state.heard(answered) });
  const state = new ControllerState({ updater: version, clock, isLeader: () => leader.holds });
  await using health = await serveProbes(settings.health, state.health);
  await using metrics = await serveProbes(settings.metrics, state.metrics);
  const reconciler = new Reconciler({
    leader,
    log,
    open: async (until) => await openUpdateWorld(settings, { env, log, cluster, leader, sightings, signal: until, now: clock.wall }),
    began: () => state.began(),
    ended: (ending) => state.ended(ending?.reason),
  });
  const { endpoint, mode } = settings;
  log.info("the Kubernetes updater runs", {
    version,
    workload: `${namespace}/${name}`,
    channel: endpoint.channel,
    version_server: `${formatHostPort(endpoint)}${endpoint.path}`,
    mode,
    healthz: formatHostPort(health.address),
    metrics: formatHostPort(metrics.address),
  });
  const watching = watchWorkload({ cluster, requests: runRequests, container, log, changed: () => reconciler.poke() }, signal);
  await Promise.all([leader.run(signal), watching, reconciler.run(signal)]);
  log.info("the Kubernetes updater has stopped");
}

interface WorldDeps extends Omit<ControllerDeps, "pod" | "clock" | "sightings"> {
  readonly sightings: Sightings;
  readonly now: () => Date;
  readonly cluster: KubeCluster;
  readonly leader: Leader;
}

/** The real world of one run. Files are read for each: they are mounted, and may be replaced. */
async function openUpdateWorld(
  settings: KubeSettings,
  { env, log, cluster, leader, sightings, signal, now }: WorldDeps,
): Promise<UpdateWorld & AsyncDisposable> {
  const { endpoint, proxy, mode, minimum, baseImage, plainRegistries, pullCredentials } = settings;
  const ca = settings.ca === undefined ? undefined : await textOf(settings.ca);
  const keys = await readKeys(settings);
  const registry = new RegistryReader({
    env,
    ca: ca === undefined ? undefined : [...trustedRoots(), ca],
    plain: plainRegistries,
    dockerConfig: async () => (pullCredentials === undefined ? "" : await textOf(pullCredentials)),
    signal,
  });
  return {
    cluster,
    ask: async (shared, facts) => await askWanted(shared, facts, { endpoint, proxy, env, ca, log, now, signal }),
    check: async (name) => await checkImage(name, { registry, keys, platform: ownPlatform() }),
    demandLease: () => leader.demand(),
    note: leader.note,
    sightings,
    mode,
    minimum,
    baseImage,
    channel: endpoint.channel,
    updater: version,
    log,
    now,
    signal,
    [Symbol.asyncDispose]: async () => await registry[Symbol.asyncDispose](),
  };
}

/** Throws `invalid` naming the file. */
async function readKeys({ publicKeys }: KubeSettings) {
  if (publicKeys === undefined) return undefined;
  const texts = await Promise.all(publicKeys.map(async (file) => await textOf(file)));
  return texts.flatMap((text) => [...readPublicKeys(text)]);
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new PlatformError("invalid", `could not read ${file}: ${errorText(cause)}`, { cause });
  }
}

/** As registries name it; this controller runs on the nodes for which it judges. */
function ownPlatform(): string {
  return `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
}
