import { coreGroup, type KubeKind, type KubeVerb, kubeKinds } from "../../resources/kube-rule.ts";

/** A request to a Kubernetes cluster, as far as access depends on it. */
export type KubeAsk = ObjectAsk | OpenAsk | PathAsk;

/** Something is done with an object, or with all objects of a kind. */
export interface ObjectAsk {
  readonly type: "object";
  /** API group; empty: the core group. */
  readonly group: string;
  /** Plural, as in paths. */
  readonly resource: string;
  readonly isNamespaced: boolean;
  /** Of a namespaced kind: omitted for all namespaces. */
  readonly namespace?: string | undefined;
  /** Omitted: all objects there, or one whose name is not known yet. */
  readonly name?: string | undefined;
  /** Beginning of the name that the cluster will give to a new object (`generateName`); without it such a name can be any. */
  readonly prefix?: string | undefined;
  /** Everything that the request does: all of it has to be allowed. */
  readonly verbs: readonly KubeVerb[];
}

/** What every user of the cluster may know: versions, discovery, health, the own rights. */
export interface OpenAsk {
  readonly type: "open";
}

/** A path outside of the API's objects: it needs a rule for everything. */
export interface PathAsk {
  readonly type: "path";
  readonly path: string;
}

/** The identity that a client asks for by its own headers; omitted: what the roles lend. */
export interface WantedSubjects {
  readonly user?: string | undefined;
  /** Empty: all. */
  readonly groups: readonly string[];
}

/** The kind as a role writes it. Pure. */
export function kindText({ group, resource }: Pick<ObjectAsk, "group" | "resource">): string {
  const short = (Object.keys(kubeKinds) as KubeKind[]).find((kind) =>
    kubeKinds[kind].places.some((place) => place.group === group && place.resource === resource),
  );
  return short ?? `${resource}.${group === "" ? coreGroup : group}`;
}
