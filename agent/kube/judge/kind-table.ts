import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";

/** A kind of objects in one version of an API group. */
export interface KindFacts {
  readonly isNamespaced: boolean;
  /** Of its objects: `log`, `exec`. */
  readonly subresources: ReadonlySet<string>;
  /** Whether several of its objects can be deleted by one request. */
  readonly hasCollectionDelete: boolean;
}

const listSchema = z.object({
  resources: z.array(z.object({ name: z.string().max(512), namespaced: z.boolean(), verbs: z.array(z.string()).optional() })).max(5_000),
});
/** Maximum versions of groups in a table. */
const maxGroups = 2_000;

/**
 * The kinds that a cluster's API server knows, by group version; each version is filled from one discovery document when it is first needed. A kind that is
 * still missing after its document was read again is refused: a path whose meaning is unknown cannot be judged.
 */
export class KindTable {
  readonly #groups = new Map<string, ReadonlyMap<string, KindFacts>>();

  /** `groupVersion`: as `groupVersion` writes it. */
  find(groupVersion: string, resource: string): KindFacts | undefined {
    return this.#groups.get(groupVersion)?.get(resource);
  }

  /** The kind in any known version of its group. */
  inGroup(group: string, resource: string): KindFacts | undefined {
    const versions = [...this.#groups].filter(([name]) => (name.includes("/") ? name.slice(0, name.indexOf("/")) : "") === group);
    return versions.map(([, kinds]) => kinds.get(resource)).find((kind) => kind !== undefined);
  }

  /** Replaces what is known of a group: the API server's APIResourceList. Throws `invalid` for something else. */
  set(groupVersion: string, document: unknown): void {
    const parsed = listSchema.safeParse(document);
    if (!parsed.success) throw new PlatformError("invalid", `the API server's list of kinds in ${groupVersion} cannot be read`);
    const kinds = new Map<string, { isNamespaced: boolean; subresources: Set<string>; hasCollectionDelete: boolean }>();
    for (const { name, namespaced, verbs = [] } of parsed.data.resources) {
      const [resource = "", ...rest] = name.split("/");
      const kind = kinds.get(resource) ?? { isNamespaced: namespaced, subresources: new Set<string>(), hasCollectionDelete: false };
      kinds.set(resource, kind);
      if (rest.length > 0) kind.subresources.add(rest.join("/"));
      else Object.assign(kind, { isNamespaced: namespaced, hasCollectionDelete: verbs.includes("deletecollection") });
    }
    if (this.#groups.size >= maxGroups && !this.#groups.has(groupVersion)) this.#groups.clear();
    this.#groups.set(groupVersion, kinds);
  }

  /** Forgets a version of a group that no longer exists. */
  remove(groupVersion: string): void {
    this.#groups.delete(groupVersion);
  }
}

/** `v1`, `apps/v1`. Pure. */
export function groupVersion(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Where the API server lists the kinds of a version of a group. Pure. */
export function discoveryPath(groupAndVersion: string): string {
  return groupAndVersion.includes("/") ? `/apis/${groupAndVersion}` : `/api/${groupAndVersion}`;
}
