import { z } from "zod";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { unreachedError } from "./http/unreached-error.ts";
import type { ApiServer, ApiServerFacts } from "./upstream/api-server.ts";
import { askAsAgent } from "./upstream/ask-as-agent.ts";

const askMs = 10_000;
const maxReview = 256 * 1024;

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

/** What the agent's account has to be allowed: to act as users, and as groups. */
const needed = [
  { verb: "impersonate", resource: "users" },
  { verb: "impersonate", resource: "groups" },
] as const;

/**
 * Asks a cluster's API server whether the agent may act as users and groups. Throws PlatformError if it may not, with the reason: the API server cannot be
 * reached, it refuses the agent's login, or the agent's account lacks a permission.
 */
export async function checkCluster(api: Pick<ApiServer, "send"> & { readonly facts: Pick<ApiServerFacts, "name"> }): Promise<"answers"> {
  const { name } = api.facts;
  const missing: string[] = [];
  for (const attributes of needed) {
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes: attributes } };
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const { status, json } = await askAsAgent(api, { method: "POST", path, body, timeoutMs: askMs, maxBytes: maxReview }).catch((thrown: unknown) => {
      throw unreachedError(name, thrown);
    });
    if (status === 401) throw new PlatformError("unauthenticated", `the API server of ${name} does not accept the agent's credentials (401)`);
    if (status === 403) throw new PlatformError("denied", `the agent's account at ${name} must be allowed to create selfsubjectaccessreviews`);
    const review = reviewSchema.safeParse(json);
    if (status !== 201 || !review.success)
      throw new PlatformError("unavailable", `the API server of ${name} did not answer an access review: ${status}`);
    if (!review.data.status.allowed) missing.push(attributes.resource);
  }
  if (missing.length === 0) return "answers";
  throw new PlatformError(
    "denied",
    `the agent's account at ${name} is not allowed to impersonate ${missing.join(" and ")}: grant it a ClusterRole that is`,
    {
      hint: "docs/kubernetes.md has the ClusterRole",
    },
  );
}
