import { z } from "zod";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { unreachedError } from "./http/unreached-error.ts";
import type { ApiServer, ApiServerFacts } from "./upstream/api-server.ts";
import { askAsAgent } from "./upstream/ask-as-agent.ts";

const askMs = 10_000;
const maxReview = 256 * 1024;

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

/** A permission of the agent's account, as RBAC names it. */
interface Permission {
  readonly verb: string;
  readonly resource: string;
}

/** Without these no user can connect: the agent acts as users and groups. */
const needed: readonly Permission[] = [
  { verb: "impersonate", resource: "users" },
  { verb: "impersonate", resource: "groups" },
];
/** Without these a part is missing: users who are service accounts, and image and node in the audit events of sessions in pods. */
const expected: readonly Permission[] = [
  { verb: "impersonate", resource: "serviceaccounts" },
  { verb: "get", resource: "pods" },
];

type Api = Pick<ApiServer, "send"> & { readonly facts: Pick<ApiServerFacts, "name"> };

/**
 * Asks a cluster's API server whether the agent may do what docs/kubernetes.md lists. Throws PlatformError if it may not act as users and groups, with the reason:
 * the API server cannot be reached, it refuses the agent's login, or the agent's account lacks a permission. `onLacking` gets the permissions without which
 * only a part is missing, such as `get pods`; none if all are there.
 */
export async function checkCluster(api: Api, onLacking: (permissions: readonly string[]) => void = () => {}): Promise<"answers"> {
  const missing = await lacking(api, needed);
  if (missing.length > 0) {
    throw new PlatformError(
      "denied",
      `the agent's account at ${api.facts.name} is not allowed to impersonate ${missing.map(({ resource }) => resource).join(" and ")}: grant it a ClusterRole that is`,
      {
        hint: "docs/kubernetes.md has the ClusterRole",
      },
    );
  }
  onLacking((await lacking(api, expected)).map(({ verb, resource }) => `${verb} ${resource}`));
  return "answers";
}

async function lacking(api: Api, permissions: readonly Permission[]): Promise<readonly Permission[]> {
  const found: Permission[] = [];
  for (const permission of permissions) if (!(await isAllowed(api, permission))) found.push(permission);
  return found;
}

async function isAllowed(api: Api, attributes: Permission): Promise<boolean> {
  const { name } = api.facts;
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
  return review.data.status.allowed;
}
