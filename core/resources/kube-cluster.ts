import { z } from "zod";
import { documentKind } from "./document.ts";
import { metadataSchema } from "./metadata.ts";
import { resourceSpec } from "./resource-spec.ts";

/** Maximum size of a kubeconfig, bytes. */
const maxKubeconfig = 256 * 1024;

/** A kubeconfig in base64, as the reference writes it. It holds credentials: a secret of the cluster. */
const kubeconfigText = z
  .string()
  .min(1, "must not be empty")
  .max(Math.ceil(maxKubeconfig / 3) * 4, `must not be larger than ${maxKubeconfig} bytes`)
  .refine(isBase64Text, "must be a kubeconfig in base64: base64 -w0 < kubeconfig");

function isBase64Text(text: string): boolean {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) return false;
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(bytes).includes("\0");
  } catch {
    return false;
  }
}

/** A Kubernetes cluster that agents offer whose `kubernetes_service.resources` match its labels. */
export const kubeClusterSchema = z.strictObject({
  kind: z.literal("kube_cluster"),
  version: z.literal("v3"),
  metadata: metadataSchema,
  spec: z.strictObject({
    /** Omitted where secrets are not shown; written without it, the stored one is kept. */
    kubeconfig: kubeconfigText.optional(),
  }),
});
export type KubeCluster = z.infer<typeof kubeClusterSchema>;
export const kubeClusterDocument = documentKind("kube_cluster", kubeClusterSchema, { what: "a kube_cluster resource" });

export const kubeClusterSpec = resourceSpec<KubeCluster>()({
  schema: kubeClusterSchema,
  aliases: ["kube_clusters", "kubecluster", "kubeclusters"],
  plain: {
    events: { created: ["kube.create", "T3010I"], updated: ["kube.update", "T3011I"], deleted: ["kube.delete", "T3012I"] },
    columns: ["Name", "Labels"],
    cells: ({ metadata }) => [
      metadata.name,
      Object.entries(metadata.labels ?? {})
        .map((pair) => pair.join("="))
        .join(","),
    ],
    most: 10_000,
    secret: {
      name: "spec.kubeconfig",
      hide: ({ spec: _secret, ...shown }) => ({ ...shown, spec: {} }),
      keep: (document, stored) => ({ ...document, spec: { ...stored?.spec, ...document.spec } }),
      isThere: ({ spec }) => spec.kubeconfig !== undefined,
    },
  },
});

/** The text of a cluster's kubeconfig; undefined where it was not shown. Pure. */
export function kubeconfigOf({ spec }: Pick<KubeCluster, "spec">): string | undefined {
  return spec.kubeconfig === undefined ? undefined : Buffer.from(spec.kubeconfig, "base64").toString("utf8");
}
