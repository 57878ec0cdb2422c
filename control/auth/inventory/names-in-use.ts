import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { baseName } from "../../../core/identity/cluster-names.ts";
import { directHostSchema } from "../../../core/resources/directory-host.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";
import { NameIndex } from "../../name-index.ts";
import type { Entry, Storage, Watch } from "../../storage/storage.ts";
import type { OtherNames } from "../tokens/host-names.ts";
import { directHostPrefix } from "./direct-hosts.ts";
import { nodeNamesPrefix, opensshPrefix, proxyNamesPrefix, readNodeNames, readProxyNames } from "./host-records.ts";

/** Only the fields of a record that matter here: a record that is not fully readable keeps its name too. */
const recordSchema = z.object({ spec: z.object({ hostname: z.string() }) });
const hostnameOf = (value: string): string => recordSchema.parse(JSON.parse(value)).spec.hostname;
const sharedOf = (value: string): string[] =>
  directHostSchema.parse(JSON.parse(value)).shared.map((address) => parseHostPort(address, undefined, "address").host);

/** Names that the storage has of hosts, by what they are; each source is a prefix of keys that end in the host's id. */
const sources = {
  /** The host name of a host with an agent. */
  agents: { prefix: "/node/", names: (value: string) => [hostnameOf(value)] },
  /** The host name of a host without one, and the name that it is registered by. */
  openssh: { prefix: opensshPrefix, names: (value: string, id: string) => [hostnameOf(value), id] },
  /** All names in the certificate of a host with an agent. */
  certified: { prefix: nodeNamesPrefix, names: (value: string) => readNodeNames(value).names },
  /** Those that it shares with other hosts on purpose. */
  shared: { prefix: directHostPrefix, names: sharedOf },
  /** The host name of a proxy. */
  proxies: { prefix: "/proxy/", names: (value: string) => [hostnameOf(value)] },
  /** Public names of a proxy. */
  announced: { prefix: proxyNamesPrefix, names: readProxyNames },
} as const;
type Source = keyof typeof sources;
const all: readonly Source[] = ["agents", "openssh", "certified", "shared", "proxies", "announced"];

/** Base names by host. */
type Tables = Readonly<Record<Source, NameIndex>>;

interface Held {
  readonly tables: Tables;
  readonly changes: Watch;
  /** Entries that expire: key → time. */
  readonly expiring: Map<string, Date>;
  readonly stop: AbortController;
}

interface NamesContext {
  readonly storage: Storage;
  readonly clusterName: string;
  readonly nodename: string;
  readonly now: () => Date;
}

/**
 * Names of the cluster and of all its hosts, by which a certificate's names are judged. They are read once and kept in memory: when all hosts renew their
 * certificates after a rotation, none of them costs a reading of all. Each answer is as new as the storage, also where another process has written it.
 */
export class NamesInUse {
  readonly #context: NamesContext;
  #held: Promise<Held> | undefined;

  constructor(context: NamesContext) {
    this.#context = context;
  }

  /** Names of the cluster and of all hosts but this one. A proxy keeps the names that it announced before, even if a node has one since. */
  async others(self: { readonly id: string }): Promise<OtherNames> {
    const { clusterName, nodename } = this.#context;
    const tables = await this.#current();
    const { agents, openssh, certified, shared, proxies, announced } = tables;
    const cluster = baseName(clusterName, clusterName);
    const isKept = (name: string): boolean => announced.namesOf(self.id).includes(name);
    // A cluster named like its host, which is the default, leaves the name to that host.
    const isHosts = cluster === baseName(nodename, clusterName) || proxies.holders(cluster).size > 0;
    const isFurther = (name: string, id: string): boolean =>
      id !== self.id && agents.namesOf(id).some((hostname) => hostname !== name) && !shared.namesOf(id).includes(name);
    return {
      services: {
        has: (name) => (name === cluster && !isHosts) || [...announced.holders(name)].some((id) => !proxies.namesOf(id).includes(name)),
      },
      proxies: { has: (name) => proxies.holders(name).size > 0 },
      nodes: { has: (name) => !isKept(name) && [agents, openssh].some((table) => [...table.holders(name)].some((id) => id !== self.id)) },
      more: {
        get: (name) => (isKept(name) ? [] : [...certified.holders(name)].filter((id) => isFurther(name, id)).flatMap((id) => agents.namesOf(id))),
      },
    };
  }

  /** Base names of hosts with an agent. */
  async agents(): Promise<Pick<ReadonlySet<string>, "has">> {
    const { agents } = await this.#current();
    return { has: (name) => agents.holders(name).size > 0 };
  }

  /** Number of hosts with an agent. */
  async agentCount(): Promise<number> {
    return (await this.#current()).agents.size;
  }

  async #current(): Promise<Tables> {
    try {
      return await this.#upToDate();
    } catch (thrown) {
      // More changes since the last question than a watch keeps.
      if (!(thrown instanceof PlatformError) || thrown.code !== "limit") throw thrown;
      return await this.#upToDate();
    }
  }

  async #upToDate(): Promise<Tables> {
    this.#held ??= this.#read();
    const reading = this.#held;
    try {
      const held = await reading;
      for (const change of held.changes.take()) {
        if (change.kind === "put") this.#take(held, change.entry);
        else this.#drop(held, change.key);
      }
      const now = this.#context.now();
      for (const [key, expires] of held.expiring) if (expires <= now) this.#drop(held, key);
      return held.tables;
    } catch (thrown) {
      // Something may have been missed.
      if (this.#held === reading) this.#held = undefined;
      void reading.then(
        ({ stop }) => stop.abort(),
        () => {},
      );
      throw thrown;
    }
  }

  async #read(): Promise<Held> {
    const { storage } = this.#context;
    const stop = new AbortController();
    const changes = storage.watch(
      all.map((source) => sources[source].prefix),
      stop.signal,
    );
    const held: Held = { tables: emptyTables(), changes, expiring: new Map(), stop };
    try {
      for (const source of all) for (const entry of await storage.list(sources[source].prefix)) this.#take(held, entry);
    } catch (thrown) {
      stop.abort();
      throw thrown;
    }
    return held;
  }

  #take({ tables, expiring }: Held, { key, value, expires }: Entry): void {
    const { source, id } = placeOf(key);
    tables[source].set(
      id,
      sources[source].names(value, id).map((name) => baseName(name, this.#context.clusterName)),
    );
    if (expires === undefined) expiring.delete(key);
    else expiring.set(key, expires);
  }

  #drop({ tables, expiring }: Held, key: string): void {
    const { source, id } = placeOf(key);
    tables[source].delete(id);
    expiring.delete(key);
  }
}

function emptyTables(): Tables {
  const table = (): NameIndex => new NameIndex();
  return { agents: table(), openssh: table(), certified: table(), shared: table(), proxies: table(), announced: table() };
}

function placeOf(key: string): { readonly source: Source; readonly id: string } {
  const source = all.find((one) => key.startsWith(sources[one].prefix));
  if (source === undefined) throw new Error(`not a key of a host's names: ${key}`);
  return { source, id: decodeURIComponent(key.slice(sources[source].prefix.length)) };
}

/** The reasons why nodes lack requested names, by id. */
export async function refusedNames(storage: Storage): Promise<ReadonlyMap<string, readonly string[]>> {
  const reasons = (await storage.list(nodeNamesPrefix)).map(
    ({ key, value }) => [key.slice(nodeNamesPrefix.length), readNodeNames(value).refused] as const,
  );
  return new Map(reasons.filter(([, refused]) => refused.length > 0));
}
