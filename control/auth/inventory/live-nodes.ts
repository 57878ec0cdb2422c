import type { HostStatus } from "../../../core/resources/host-status.ts";

/** How a proxy says that a tunnel ended: `silent` may still come to life, `stopped` was announced by the agent. */
export const tunnelEndings = ["closed", "silent", "stopped"] as const;
export type TunnelEnding = (typeof tunnelEndings)[number];

/** Which hosts are connected now: in memory, told by proxies, and by hosts that proxies dial. */
export interface LiveNode {
  readonly connected: boolean;
  readonly since: Date;
  readonly address: string;
  /** Proxies dial it, at that address; otherwise it comes from there. */
  readonly isDialled?: boolean;
  /** Id of the proxy that said so, or the host's own. */
  readonly proxy: string;
  /** Why it is not connected: `lost` with its proxy, or as the proxy says. */
  readonly ending?: TunnelEnding | "lost" | undefined;
  readonly hostname: string;
  readonly version: string;
  /** What the host said last of its updater and its sessions. */
  readonly status?: HostStatus | undefined;
}

export class LiveNodes {
  readonly #nodes = new Map<string, LiveNode>();
  readonly #watchers = new Map<string, number>();

  get(id: string): LiveNode | undefined {
    return this.#nodes.get(id);
  }

  all(): IterableIterator<[id: string, node: LiveNode]> {
    return this.#nodes.entries();
  }

  /** Keeps `since` while nothing changes. A proxy's "gone" does not undo what another proxy holds. */
  report(id: string, report: Omit<LiveNode, "since">, now: Date): void {
    const known = this.#nodes.get(id);
    if (known?.connected === true && !report.connected && known.proxy !== report.proxy) return;
    const since = known?.connected === report.connected ? known.since : now;
    this.#nodes.set(id, { ...report, since });
  }

  forget(id: string): void {
    this.#nodes.delete(id);
  }

  /**
   * A proxy watches for as long as the result lives. When its last watch ends, nobody knows of its hosts any more: they are
   * shown as gone until it reports them anew, which it does after every new watch.
   */
  watching(proxy: string, now: () => Date): Disposable {
    this.#watchers.set(proxy, (this.#watchers.get(proxy) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#watchers.get(proxy) ?? 1) - 1;
        if (left > 0) this.#watchers.set(proxy, left);
        else {
          this.#watchers.delete(proxy);
          this.#loseProxy(proxy, now());
        }
      },
    };
  }

  #loseProxy(proxy: string, now: Date): void {
    for (const [id, node] of this.#nodes) {
      if (node.proxy !== proxy || !node.connected) continue;
      this.#nodes.set(id, { ...node, connected: false, since: now, ending: id === proxy ? "closed" : "lost" });
    }
  }
}
