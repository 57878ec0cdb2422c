import { z } from "zod";
import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { NameIndex } from "../../name-index.ts";
import type { Change, Entry, Storage } from "../../storage/storage.ts";
import { nodeNamesPrefix, readNodeNames } from "./host-records.ts";

const nodePrefix = "/node/";

/** Only the fields of a record that matter here: a record that is not fully readable keeps its name too. */
const recordSchema = z.object({ spec: z.object({ hostname: z.string() }) });

/** Listeners for changes of recorded hosts. */
export interface RecordsWatch {
  /** The record of this host, or its names, changed. */
  readonly changed: (id: string) => void;
  /** Changes may have been missed: the reader begins again. */
  readonly lost: () => void;
}

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
  readonly #index = new NameIndex();
  readonly #watching = new Set<RecordsWatch>();
  #loading: Promise<void> | undefined;

  constructor({ storage, log }: { readonly storage: Storage; readonly log: Log }) {
    this.#storage = storage;
    this.#log = log;
  }

  /** Ids of the hosts that the target may mean: an id, a name, or either followed by `.cluster`. */
  async find(target: string, cluster: string): Promise<readonly string[]> {
    await this.#loaded();
    return this.#index.find(target, cluster);
  }

  /** Names that several hosts have, each with the ids. */
  async shared(): Promise<readonly (readonly [name: string, ids: readonly string[]])[]> {
    await this.#loaded();
    return this.#index.shared();
  }

  /** All recorded hosts, and from now on the changes, for as long as the result lives. */
  async watch(watch: RecordsWatch): Promise<Disposable & { readonly index: Pick<NameIndex, "ids" | "namesOf" | "namesakes"> }> {
    await this.#loaded();
    this.#watching.add(watch);
    return { index: this.#index, [Symbol.dispose]: () => void this.#watching.delete(watch) };
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
    this.#index.clear();
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
    for (const { lost } of this.#watching) lost();
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

  #set(id: string, { hostname, names }: Recorded): void {
    this.#hosts.set(id, { hostname, names });
    if (hostname === undefined) this.#index.delete(id);
    else this.#index.set(id, [hostname, ...names]);
    for (const { changed } of this.#watching) changed(id);
  }
}

function idOf(key: string): string {
  return decodeURIComponent(key.slice(key.lastIndexOf("/") + 1));
}
