import type { KubernetesRequests } from "../../../core/kubernetes/kubernetes-api.ts";
import { silentLog } from "../../../core/log/log.ts";
import { KubeCluster } from "../cluster/kube-cluster.ts";
import { runUpdate } from "../update/run-update.ts";
import type { ImageVerdict, WantedVersion } from "../update/update-decision.ts";
import type { UpdateEnding, UpdateWorld } from "../update/update-run.ts";
import type { FakeCluster } from "./fake-cluster.ts";
import { digest, wants } from "./update-facts.ts";

export interface WorldOptions {
  readonly wanted?: WantedVersion;
  readonly verdict?: ImageVerdict;
  readonly mode?: "apply" | "suggest";
  readonly demandLease?: () => void;
  readonly signal?: AbortSignal;
  /** How much the controller's clock is ahead, seconds. */
  readonly ahead?: number;
}

/** A secret of agents whose window is open from second 1000 to 100,000. */
export const openWindow = {
  "agent-maintenance-schedule": Buffer.from('{"windows":[{"start":"1970-01-01T00:16:40Z","stop":"1970-01-02T03:46:40Z"}]}').toString("base64"),
};

export function fakeWorld(fake: FakeCluster, requests: KubernetesRequests, options: WorldOptions = {}): UpdateWorld {
  const { wanted = wants("1.1.0"), verdict = { kind: "good", digest }, mode = "apply", demandLease = () => {}, ahead = 0 } = options;
  return {
    cluster: new KubeCluster({ requests, namespace: "ns", name: "agent", container: "platform" }),
    ask: async () => wanted,
    check: async () => verdict,
    demandLease,
    note: fake.note,
    sightings: fake.sightings,
    mode,
    minimum: undefined,
    baseImage: undefined,
    channel: "default",
    updater: "1.0.0",
    log: silentLog,
    now: () => new Date((fake.seconds + ahead) * 1000),
    signal: options.signal ?? new AbortController().signal,
  };
}

/** Runs and steps of the cluster, in turn, until nothing has changed for some of them. Returns the last result. */
export async function settle(fake: FakeCluster, options: WorldOptions = {}, rounds = 60): Promise<UpdateEnding> {
  let last: UpdateEnding = { reason: "internal", detail: "" };
  for (let round = 0, quiet = 0; round < rounds && quiet < 4; round += 1) {
    const before = `${last.reason} ${fake.writes.length}`;
    last = await runUpdate(fakeWorld(fake, fake.client("next"), options));
    fake.set.step();
    fake.seconds += 20;
    const isQuiet = fake.set.isSettled && last.reason !== "rolling_out" && before === `${last.reason} ${fake.writes.length}`;
    quiet = isQuiet ? quiet + 1 : 0;
  }
  return last;
}
