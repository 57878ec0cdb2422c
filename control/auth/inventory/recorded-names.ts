import { z } from "zod";
import { errorText } from "../../../core/errors/platform-error.ts";
import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";
import type { Log } from "../../../core/log/log.ts";
import type { Change, Entry, Storage } from "../../storage/storage.ts";
import { nodeNamesPrefix, readNodeNames } from "./node-names.ts";

const nodePrefix = "/node/";

/** Only the fields of a record that matter here: a record that is not fully readable keeps its name too. */
const recordSchema = z.object({ spec: z.object({ hostname: z.string() }) });

interface Recorded {
  /** Left out: there is no record, so the other fields are ignored. */
  readonly hostname?: string | undefined;
  /** Names in its certificate. */
  readonly names: readonly string[];
}

/**
 * Names of recorded hosts, connected or not: read at the first query, and then kept up to date in memory, so that no stream
 * needs to read all records.
 */
export class RecordedNames {
  readonly #storage: Storage;
  readonly #log: Log;
  readonly #hosts = new Map<string, Recorded>();
  /** Name in canonical spelling → ids. */
  readonly #byName = new Map<string, Set<string>>();
  #loading: Promise<void> | undefined;

  constructor({ storage, log }: { readonly storage: Storage; readonly log: Log }) {
    this.#storage = storage;
    this.#log = log;
  }

  /** Ids of the hosts that the target may mean: an id, a name, or either followed by `.cluster`. */
  async find(target: string, cluster: string): Promise<readonly string[]> {
    await this.#loaded();
    const isHost = (name: string): boolean => this.#hosts.get(name)?.hostname !== undefined;
    const ids = namesMeant(target, cluster).flatMap((name) => (isHost(name) ? [name] : [...(this.#byName.get(name) ?? [])]));
    return [...new Set(ids)];
  }

  /** Names that several hosts have, each with the ids. */
  async shared(): Promise<readonly (readonly [name: string, ids: readonly string[]])[]> {
    await this.#loaded();
    return [...this.#byName].flatMap(([name, ids]) => (ids.size > 1 ? [[name, [...ids]] as const] : []));
  }

  #loaded(): Promise<void> {
    this.#loading ??= this.#load().catch((thrown: unknown) => {
      this.#loading = undefined;
      throw thrown;
    });
    return this.#loading;
  }

  async #load(): Promise<void> {
    this.#hosts.clear();
    this.#byName.clear();
    // Later changes follow the lists, and hold the current state.
    const changes = this.#storage.watch([nodePrefix, nodeNamesPrefix], new AbortController().signal);
    for (const prefix of [nodePrefix, nodeNamesPrefix]) for (const entry of await this.#storage.list(prefix)) this.#take(entry);
    void this.#follow(changes);
  }

  /** Runs to the end of the watch: the next query reads all again. */
  async #follow(changes: AsyncIterable<Change>): Promise<void> {
    try {
      for await (const change of changes) {
        if (change.kind === "put") this.#take(change.entry);
        else this.#drop(change.key);
      }
    } catch (error) {
      this.#log.debug("reading the names of hosts again", { error: errorText(error) });
    }
    this.#loading = undefined;
  }

  #take(entry: Entry): void {
    const id = idOf(entry.key);
    const known = this.#hosts.get(id) ?? { names: [] };
    if (!entry.key.startsWith(nodePrefix)) this.#set(id, { ...known, names: readNodeNames(entry.value).names });
    else this.#set(id, { ...known, hostname: recordSchema.parse(JSON.parse(entry.value)).spec.hostname });
  }

  #drop(key: string): void {
    const id = idOf(key);
    const known = this.#hosts.get(id);
    if (known === undefined) return;
    const left = key.startsWith(nodePrefix) ? { names: known.names } : { hostname: known.hostname, names: [] };
    this.#set(id, left);
    if (left.hostname === undefined && left.names.length === 0) this.#hosts.delete(id);
  }

  #set(id: string, next: Recorded): void {
    for (const name of namesOf(this.#hosts.get(id))) {
      const ids = this.#byName.get(name);
      ids?.delete(id);
      if (ids?.size === 0) this.#byName.delete(name);
    }
    this.#hosts.set(id, next);
    for (const name of namesOf(next)) this.#byName.set(name, (this.#byName.get(name) ?? new Set()).add(id));
  }
}

function namesOf({ hostname, names }: Recorded = { names: [] }): readonly string[] {
  return hostname === undefined ? [] : [...new Set([hostname, ...names].map(canonicalName))];
}

function idOf(key: string): string {
  return decodeURIComponent(key.slice(key.lastIndexOf("/") + 1));
}
