import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import type { DescribedCluster } from "./kube-cluster.ts";
import type { OfferedCluster } from "./offered-cluster.ts";
import { ApiServer } from "./upstream/api-server.ts";
import { KnownKinds } from "./upstream/known-kinds.ts";

interface Connected {
  readonly settings: string;
  readonly over: AbortController;
  readonly api: ApiServer;
  readonly kinds: KnownKinds;
}

/** Connections to the API servers of the clusters that are offered, each opened when it is first needed. */
export class ApiServers {
  readonly #env: Env;
  readonly #signal: AbortSignal;
  readonly #open = new Map<string, Connected>();

  constructor(env: Env, signal: AbortSignal) {
    this.#env = env;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.follow([]), { once: true });
  }

  /** The cluster with its connections; its labels are always the current ones. */
  of(cluster: DescribedCluster): OfferedCluster {
    const { name, server } = cluster;
    const settings = settingsOf(server);
    let found = this.#open.get(name);
    if (found?.settings !== settings) {
      found?.over.abort();
      const over = new AbortController();
      if (this.#signal.aborted) over.abort();
      const api = new ApiServer(server, { env: this.#env }, over.signal);
      found = { settings, over, api, kinds: new KnownKinds(api) };
      this.#open.set(name, found);
    }
    return {
      name,
      get labels() {
        return cluster.labels;
      },
      api: found.api,
      kinds: found.kinds,
    };
  }

  /** Ends the connections of clusters that are no longer offered, or are now reached in another way. */
  follow(clusters: readonly DescribedCluster[]): void {
    const settings = new Map(clusters.map(({ name, server }) => [name, settingsOf(server)]));
    for (const [name, { settings: own, over }] of this.#open) {
      if (settings.get(name) === own) continue;
      over.abort();
      this.#open.delete(name);
    }
  }
}

export function settingsOf(server: DescribedCluster["server"]): string {
  return JSON.stringify(server);
}
