import { z } from "zod";

/** A name of an object in Kubernetes: of a namespace, a pod, a container (RFC 1123). */
export const kubeNameSchema = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, "must be a name of small letters, digits, - and .");

/** A pod as the user may see it. */
export const listedPodSchema = z.object({
  namespace: z.string(),
  name: z.string(),
  /** `Running`, `Pending`, `Terminating`, the reason for which a container waits. */
  state: z.string(),
  /** RFC 3339; omitted where it is not known. */
  created: z.string().optional(),
  node: z.string(),
  /** Those that a shell may be in, the usual one first. */
  containers: z.array(z.object({ name: z.string(), image: z.string(), is_running: z.boolean() })),
});
export type ListedPod = z.infer<typeof listedPodSchema>;

/** `has_more`: the cluster has more of them than are listed. */
export const podListSchema = z.object({ pods: z.array(listedPodSchema), has_more: z.boolean() });
export type PodList = z.infer<typeof podListSchema>;

export const namespaceListSchema = z.object({ namespaces: z.array(z.string()), has_more: z.boolean() });
export type NamespaceList = z.infer<typeof namespaceListSchema>;
