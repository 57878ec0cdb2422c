import { z } from "zod";

/** Where the objects of a kind are in the API. */
export interface KubePlace {
  /** Empty: the core group. */
  readonly group: string;
  /** Plural, as in paths. */
  readonly resource: string;
}

interface KubeKindRow {
  readonly isNamespaced: boolean;
  /** All places of the kind, older API groups too. */
  readonly places: readonly KubePlace[];
}

function places(resource: string, ...groups: readonly string[]): readonly KubePlace[] {
  return groups.map((group) => ({ group, resource }));
}

/** Kinds of objects that `kubernetes_resources` of a role name, as the reference spells them in roles of version v7. */
export const kubeKinds = {
  // Metrics have the name of their pod or node.
  pod: { isNamespaced: true, places: places("pods", "", "metrics.k8s.io") },
  secret: { isNamespaced: true, places: places("secrets", "") },
  configmap: { isNamespaced: true, places: places("configmaps", "") },
  namespace: { isNamespaced: false, places: places("namespaces", "") },
  service: { isNamespaced: true, places: places("services", "") },
  serviceaccount: { isNamespaced: true, places: places("serviceaccounts", "") },
  kube_node: { isNamespaced: false, places: places("nodes", "", "metrics.k8s.io") },
  persistentvolume: { isNamespaced: false, places: places("persistentvolumes", "") },
  persistentvolumeclaim: { isNamespaced: true, places: places("persistentvolumeclaims", "") },
  deployment: { isNamespaced: true, places: places("deployments", "apps", "extensions") },
  replicaset: { isNamespaced: true, places: places("replicasets", "apps", "extensions") },
  statefulset: { isNamespaced: true, places: places("statefulsets", "apps") },
  daemonset: { isNamespaced: true, places: places("daemonsets", "apps", "extensions") },
  clusterrole: { isNamespaced: false, places: places("clusterroles", "rbac.authorization.k8s.io") },
  kube_role: { isNamespaced: true, places: places("roles", "rbac.authorization.k8s.io") },
  clusterrolebinding: { isNamespaced: false, places: places("clusterrolebindings", "rbac.authorization.k8s.io") },
  rolebinding: { isNamespaced: true, places: places("rolebindings", "rbac.authorization.k8s.io") },
  cronjob: { isNamespaced: true, places: places("cronjobs", "batch") },
  job: { isNamespaced: true, places: places("jobs", "batch") },
  certificatesigningrequest: { isNamespaced: false, places: places("certificatesigningrequests", "certificates.k8s.io") },
  ingress: { isNamespaced: true, places: places("ingresses", "networking.k8s.io", "extensions") },
} as const satisfies Readonly<Record<string, KubeKindRow>>;
export type KubeKind = keyof typeof kubeKinds;

/** Verbs of rules. `proxy` opens connections to pods, services and nodes; `exec` is also attaching and debugging. */
export const kubeVerbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "exec", "portforward", "proxy"] as const;
export type KubeVerb = (typeof kubeVerbs)[number];

/** Stands for the core group in the long form of a kind, `events.core`. */
export const coreGroup = "core";

const kindNames = Object.keys(kubeKinds);
/** `<plural>.<group>`: a kind of any group, such as one that the cluster's own definitions add. */
const longKind = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/;

const kindText = z
  .string()
  .max(253)
  .refine(
    (kind) => kind === "*" || kindNames.includes(kind) || longKind.test(kind),
    `must be one of ${kindNames.join(", ")}, or <plural>.<group> such as crontabs.example.com or events.core, or *`,
  );

/** A name, a glob such as `web-*`, a `^regular expression$`, or a template. */
const patternText = z.string().min(1).max(1024);

/** Objects in a cluster, and what may be done with them: an entry of `kubernetes_resources`. */
export const kubeRuleSchema = z
  .strictObject({
    kind: kindText,
    /** Omitted: objects that are in no namespace. */
    namespace: patternText.optional(),
    name: patternText,
    verbs: z.array(z.enum([...kubeVerbs, "*"], `must be one of ${kubeVerbs.join(", ")} or *`)).min(1),
  })
  .refine(({ kind, namespace }) => namespace !== undefined || !isNamespacedKind(kind), {
    path: ["namespace"],
    message: "is needed: objects of this kind are in namespaces ('*' for all)",
  });
export type KubeRule = z.infer<typeof kubeRuleSchema>;

function isNamespacedKind(kind: string): boolean {
  return Object.hasOwn(kubeKinds, kind) && kubeKinds[kind as KubeKind].isNamespaced;
}

/** A user or a group of a Kubernetes cluster, as it goes into a header: no control characters, and nothing at its ends that a header would lose. */
export const kubeSubjectText = z
  .string()
  .min(1)
  .max(256)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  .regex(/^(?! )[^\u0000-\u001f\u007f-\u{10ffff}]*[^\u0000-\u0020\u007f-\u{10ffff}]$/u, "must be printable ASCII without spaces at its ends");
