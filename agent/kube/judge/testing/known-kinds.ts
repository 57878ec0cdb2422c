import { KindTable } from "../kind-table.ts";

const names = (isNamespaced: boolean, list: string): readonly object[] =>
  list.split(" ").map((name) => ({ name, namespaced: isNamespaced, kind: "K", verbs: ["get"] }));

/** The kinds of a small cluster, as its API server lists them. */
export function knownKinds(): KindTable {
  const kinds = new KindTable();
  const pods = "pods pods/log pods/exec pods/attach pods/portforward pods/proxy pods/eviction pods/binding pods/status pods/ephemeralcontainers";
  kinds.set("v1", {
    resources: [
      ...names(true, `${pods} secrets configmaps services services/proxy serviceaccounts serviceaccounts/token events bindings`),
      ...names(false, "namespaces namespaces/status namespaces/finalize nodes nodes/proxy nodes/status persistentvolumes"),
    ],
  });
  kinds.set("apps/v1", { resources: names(true, "deployments deployments/scale deployments/status") });
  kinds.set("authorization.k8s.io/v1", { resources: names(false, "selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews") });
  kinds.set("authentication.k8s.io/v1", { resources: names(false, "selfsubjectreviews tokenreviews") });
  kinds.set("stable.example.com/v1", { resources: names(true, "crontabs crontabs/console") });
  kinds.set("custom.metrics.k8s.io/v1beta1", { resources: names(true, "pods/http_requests") });
  kinds.set("rbac.authorization.k8s.io/v1", { resources: names(false, "clusterroles") });
  return kinds;
}
