import { canonicalName, namesMeant } from "../core/identity/cluster-names.ts";

const nobody: ReadonlySet<string> = new Set();

/** Hosts by id and by name. A name may belong to several hosts. */
export class NameIndex {
  /** Id → names in canonical spelling. */
  readonly #names = new Map<string, readonly string[]>();
  /** Name in canonical spelling → ids. */
  readonly #ids = new Map<string, Set<string>>();

  /** Sets a host's names, in place of those before. */
  set(id: string, names: readonly string[]): void {
    this.delete(id);
    const canonical = [...new Set(names.map(canonicalName))];
    this.#names.set(id, canonical);
    for (const name of canonical) this.#ids.set(name, (this.#ids.get(name) ?? new Set()).add(id));
  }

  delete(id: string): void {
    for (const name of this.#names.get(id) ?? []) {
      const ids = this.#ids.get(name);
      ids?.delete(id);
      if (ids?.size === 0) this.#ids.delete(name);
    }
    this.#names.delete(id);
  }

  clear(): void {
    this.#names.clear();
    this.#ids.clear();
  }

  ids(): readonly string[] {
    return [...this.#names.keys()];
  }

  /** In canonical spelling. */
  namesOf(id: string): readonly string[] {
    return this.#names.get(id) ?? [];
  }

  get size(): number {
    return this.#names.size;
  }

  /** Ids of the hosts that have exactly this name, in canonical spelling. */
  holders(name: string): ReadonlySet<string> {
    return this.#ids.get(name) ?? nobody;
  }

  /** Ids of the hosts that the target may mean: an id, a name, or either followed by `.cluster`. */
  find(target: string, cluster: string): readonly string[] {
    const ids = namesMeant(target, cluster).flatMap((name) => (this.#names.has(name) ? [name] : [...(this.#ids.get(name) ?? [])]));
    return [...new Set(ids)];
  }

  /** Other hosts that some target means as well as this one. */
  namesakes(id: string, cluster: string): readonly string[] {
    const suffix = `.${canonicalName(cluster)}`;
    const spellings = this.namesOf(id).flatMap((name) => [...namesMeant(name, cluster), `${name}${suffix}`]);
    return [...new Set(spellings.flatMap((name) => [...(this.#ids.get(name) ?? [])]))].filter((other) => other !== id);
  }

  /** Names that several hosts have, each with their ids. */
  shared(): readonly (readonly [name: string, ids: readonly string[]])[] {
    return [...this.#ids].flatMap(([name, ids]) => (ids.size > 1 ? [[name, [...ids]] as const] : []));
  }
}
