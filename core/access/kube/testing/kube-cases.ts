import type { KubeVerb } from "../../../resources/kube-rule.ts";
import { type Role, roleSchema } from "../../../resources/role.ts";
import { decideKube } from "../decide-kube.ts";
import { kubeAccess } from "../kube-access.ts";
import type { KubeAsk, ObjectAsk, WantedSubjects } from "../kube-ask.ts";

interface Side {
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
  /** `verbs kind namespace/name`, or `verbs kind name`. */
  readonly rules?: readonly string[];
}

function conditions({ groups, users, rules }: Side, labels?: object): object {
  return {
    ...(labels && { kubernetes_labels: labels }),
    ...(groups && { kubernetes_groups: groups }),
    ...(users && { kubernetes_users: users }),
    kubernetes_resources: (rules ?? []).map(ruleOf),
  };
}

function ruleOf(text: string): object {
  const [verbs = "", kind = "", place = ""] = text.split(" ");
  const [namespace, name] = place.includes("/") ? place.split("/") : [undefined, place];
  return { kind, ...(namespace !== undefined && { namespace }), name, verbs: verbs.split(",") };
}

/** A role from short text: `get,list pod a/web-*` is a rule. It is for all clusters unless `labels` says otherwise. */
export function roleOf(name: string, allow: Side | undefined, deny?: Side, labels: object = { "*": "*" }): Role {
  const spec = { ...(allow && { allow: conditions(allow, labels) }), ...(deny && { deny: conditions(deny) }) };
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec });
}

/** Kinds by the word that `askOf` reads. */
export const places: Readonly<Record<string, Pick<ObjectAsk, "group" | "resource" | "isNamespaced">>> = {
  pod: { group: "", resource: "pods", isNamespaced: true },
  secret: { group: "", resource: "secrets", isNamespaced: true },
  namespace: { group: "", resource: "namespaces", isNamespaced: false },
  clusterrole: { group: "rbac.authorization.k8s.io", resource: "clusterroles", isNamespaced: false },
  deployment: { group: "apps", resource: "deployments", isNamespaced: true },
  crontab: { group: "stable.example.com", resource: "crontabs", isNamespaced: true },
  event: { group: "", resource: "events", isNamespaced: true },
};

/** A request from short text: `get pod a/web-1`, `list pod a/`, `list pod /` (all namespaces), `create pod a/web-~` (a prefix), `get clusterrole x`. */
export function askOf(text: string): ObjectAsk {
  const [verbs = "", kind = "", place = ""] = text.split(" ");
  const [namespace, name] = place.includes("/") ? place.split("/") : ["", place];
  const found = places[kind];
  if (found === undefined) throw new Error(kind);
  const prefix = name?.endsWith("~") ? { prefix: name.slice(0, -1) } : name ? { name } : {};
  return { type: "object", ...found, ...(namespace ? { namespace } : {}), ...prefix, verbs: verbs.split("+") as KubeVerb[] };
}

const alice = { name: "alice", traits: { kubernetes_groups: ["dev"], ns: ["a", "*"], kubernetes_users: [] } };

/** The verdict on a request of alice with these roles, in the cluster prod; throws `denied`. */
export function decided(roles: readonly Role[], ask: KubeAsk, wanted?: WantedSubjects) {
  const access = kubeAccess({ identity: alice, held: roles, cluster: { name: "prod", labels: { env: "prod" } } });
  return decideKube(access, ask, wanted);
}

export const viewer = roleOf("viewer", { groups: ["view"], rules: ["get,list,watch pod */*"] });
export const masters = roleOf("masters", { groups: ["system:masters"], rules: ["* pod shop/webapp"] });
export const inA = roleOf("in-a", { groups: ["dev"], rules: ["get,list,watch,create,delete,deletecollection,exec pod a/web-*"] });
export const inB = roleOf("in-b", { groups: ["dev"], rules: ["* pod b/*", "get namespace b"] });
export const all = roleOf("all", { groups: ["ops"], rules: ["* * */*"] });
export const ofNamespace = roleOf("of-namespace", { groups: ["team"], rules: ["get,list,watch namespace team-*"] });
export const noSecrets = roleOf("no-secrets", undefined, { rules: ["* secret */*"] });
export const noKing = roleOf("no-king", undefined, { rules: ["* pod */king"] });
