import type { HostStatus } from "../../../core/resources/host-status.ts";
import { NameIndex } from "../../name-index.ts";

/** How a tunnel ended, by the proxy's report: `silent` may still recover, `stopped` was announced by the agent. */
export const tunnelEndings = ["closed", "silent", "stopped"] as const;
export type TunnelEnding = (typeof tunnelEndings)[number];

/** State of one host: it is connected while any proxy has a tunnel to it, or while it watches as a dialled host. */
export interface LiveNode {
  readonly connected: boolean;
  readonly since: Date;
  readonly address: string;
  /** The address that proxies dial; otherwise the address that it connects from. */
  readonly isDialled?: boolean;
  /** Ids of the proxies that have a tunnel to it, or its own when it is dialled; the most recent report comes last. */
  readonly proxies: readonly string[];
  /** Why it is not connected: `lost` with its last proxy, or as reported by that proxy. */
  readonly ending?: TunnelEnding | "lost" | undefined;
  readonly hostname: string;
  readonly version: string;
  /** The host's last report of its updater and its sessions. */
  readonly status?: HostStatus | undefined;
  /** Names under which it is found. */
  readonly names: readonly string[];
}

/** The report of a proxy about a host, or of a host about itself. */
export interface LiveReport extends Pick<LiveNode, "connected" | "address" | "isDialled" | "hostname" | "version" | "status"> {
  /** Id of the reporting proxy, or the host's own. */
  readonly proxy: string;
  readonly ending?: TunnelEnding | undefined;
  readonly names?: readonly string[];
}

/** The connected hosts: in memory, as reported by proxies, and by hosts that proxies dial. */
export class LiveNodes {
  readonly #nodes = new Map<string, LiveNode>();
  readonly #index = new NameIndex();
  readonly #listeners = new Set<(id: string) => void>();
  readonly #watchers = new Map<string, number>();

  get(id: string): LiveNode | undefined {
    return this.#nodes.get(id);
  }

  all(): IterableIterator<[id: string, node: LiveNode]> {
    return this.#nodes.entries();
  }

  /** Ids of the hosts that the target may mean: an id, a name, or either followed by `.cluster`. */
  find(target: string, cluster: string): readonly string[] {
    return this.#index.find(target, cluster);
  }

  /** Calls the listener whenever the way to a host or a name of it changes, for as long as the result lives. */
  onChange(listener: (id: string) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Keeps `since` while nothing changes. A proxy's "gone" does not affect another proxy's tunnel. */
  report(id: string, report: LiveReport, now: Date): void {
    const known = this.#nodes.get(id);
    const { proxy, connected, address, isDialled, hostname, version, status } = report;
    const others = known?.proxies.filter((other) => other !== proxy) ?? [];
    if (!connected && known?.connected === true && others.length > 0) {
      this.#set(id, { ...known, proxies: others });
      return;
    }
    const since = known?.connected === connected ? known.since : now;
    const names = report.names ?? known?.names ?? [];
    const proxies = connected ? [...others, proxy] : [];
    const ending = connected ? undefined : report.ending;
    const dialled = isDialled !== undefined && { isDialled };
    this.#set(id, { connected, since, address, ...dialled, proxies, ending, hostname, version, status, names });
  }

  forget(id: string): void {
    this.#index.delete(id);
    if (this.#nodes.delete(id)) this.#notify(id);
  }

  /**
   * A proxy watches for as long as the result lives. When its last watch ends, its tunnels are unknown: hosts that have
   * no other are shown as gone until it reports them again, which it does after every new watch.
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
      if (!node.proxies.includes(proxy)) continue;
      const proxies = node.proxies.filter((other) => other !== proxy);
      if (proxies.length > 0) this.#set(id, { ...node, proxies });
      else this.#set(id, { ...node, proxies, connected: false, since: now, ending: id === proxy ? "closed" : "lost" });
    }
  }

  #set(id: string, node: LiveNode): void {
    const before = this.#nodes.get(id);
    this.#nodes.set(id, node);
    if (before?.names.join() !== node.names.join()) this.#index.set(id, node.names);
    if (before === undefined || wayTo(before) !== wayTo(node)) this.#notify(id);
  }

  #notify(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }
}

function wayTo({ connected, isDialled, proxies, names }: LiveNode): string {
  return JSON.stringify([connected, isDialled, proxies, names]);
}
