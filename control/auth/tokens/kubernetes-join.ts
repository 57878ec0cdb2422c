import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { answeredJson, type KubernetesRequests } from "../../../core/kubernetes/kubernetes-api.ts";
import type { Queue } from "../../../core/limits/queue.ts";
import type { Token } from "../../../core/resources/token.ts";
import { readServiceAccountToken, type ServiceAccount, verifyServiceAccountToken } from "./service-account-token.ts";

export interface KubernetesJoin {
  /** Of the method kubernetes. */
  readonly token: Token;
  /** The pod's token. */
  readonly idToken: string;
  /** That tokens must be for: the cluster's name. */
  readonly audience: string;
  readonly now: Date;
  /** The API server of the cluster in which the auth service is a pod; undefined if it is none. */
  readonly api: OpenApi | undefined;
  readonly queue: Queue;
}

/** Opens a connection to the API server. */
export type OpenApi = () => Promise<KubernetesRequests & AsyncDisposable>;

/** Time for the API server's answer, ms. */
const reviewMs = 10_000;
/** Largest answer, bytes. */
const maxReview = 65_536;

/**
 * The service account that presents a token: verified, and one that the join token allows. Throws `denied` with the reason, `unavailable` while the API
 * server does not answer.
 */
export async function checkKubernetesJoin({ token, idToken, audience, now, api, queue }: KubernetesJoin): Promise<ServiceAccount> {
  const rules = token.spec.kubernetes;
  if (rules === undefined) throw new PlatformError("denied", "this join token is not for the method kubernetes");
  const wanted = { audience, now, issuer: rules.static_jwks?.issuer };
  // Also before the API server is asked: strangers cannot make it work.
  const { account } = readServiceAccountToken(idToken, wanted);
  const name = `${account.namespace}:${account.name}`;
  if (!rules.allow.some(({ service_account: allowed }) => allowed === name)) {
    throw new PlatformError("denied", `the join token ${token.metadata.name} does not allow the service account ${name}`, {
      hint: `add it to spec.kubernetes.allow: change what tctl get token/${token.metadata.name} prints, and write it back with tctl create -f`,
    });
  }
  if (rules.type === "static_jwks") return verifyServiceAccountToken(idToken, { ...wanted, jwks: rules.static_jwks?.jwks ?? "" });
  if (api === undefined) {
    throw new PlatformError("denied", "the auth service does not run in a Kubernetes cluster, so it cannot ask one about service accounts", {
      hint: "use type: static_jwks in the join token",
    });
  }
  await queue(async () => {
    await using opened = await api();
    await review(opened, { idToken, audience, name, pod: account.pod });
  });
  return account;
}

const reviewSchema = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    audiences: z.array(z.string()).default([]),
    user: z.object({ username: z.string().default(""), extra: z.record(z.string(), z.array(z.string())).default({}) }).optional(),
  }),
});

interface Reviewed {
  readonly idToken: string;
  readonly audience: string;
  /** `namespace:name` that the token claims. */
  readonly name: string;
  readonly pod: string;
}

/** Asks the API server, which also knows whether the pod and the account still exist. */
async function review(api: KubernetesRequests, { idToken, audience, name, pod }: Reviewed): Promise<void> {
  const answer = await api.request({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/tokenreviews",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: idToken, audiences: [audience] } },
    timeoutMs: reviewMs,
    maxBytes: maxReview,
  });
  let reviewed: unknown;
  try {
    reviewed = answeredJson(answer, "the review of the service account's token");
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code === "unavailable") throw thrown;
    throw new PlatformError("unavailable", thrown.message, {
      cause: thrown,
      hint: "the auth service's own account needs the ClusterRole system:auth-delegator",
    });
  }
  const parsed = reviewSchema.safeParse(reviewed);
  const refuse = (why: string): never => {
    throw new PlatformError("denied", `the service account's token is refused: ${why}`);
  };
  if (!parsed.success) return refuse("the API server's answer cannot be read");
  const { authenticated, audiences, user } = parsed.data.status;
  if (!authenticated || user === undefined) return refuse("the API server does not know it");
  if (!audiences.includes(audience)) return refuse(`it is not for the audience ${audience}`);
  if (user.username !== `system:serviceaccount:${name}`) return refuse("the API server knows it as another account's");
  if (!(user.extra["authentication.kubernetes.io/pod-name"] ?? []).includes(pod)) return refuse("the API server knows no pod that it is bound to");
}
