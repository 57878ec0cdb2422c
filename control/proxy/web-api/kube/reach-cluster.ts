import type { TLSSocket } from "node:tls";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import type { UserIdentity } from "../../../../core/identity/identity.ts";
import { reachAgent } from "../../kube-front/reach-agent.ts";
import type { ReachServices } from "../../routing/reach-served.ts";
import { confirmedUser } from "../confirmed-user.ts";

/** A browser session that connects to a Kubernetes cluster. */
export interface ClusterVisit {
  /** Name of the Kubernetes cluster. */
  readonly cluster: string;
  readonly identity: UserIdentity;
  /** Of the page, where roles demand a code for each session. */
  readonly confirmation: string | undefined;
  /** The auth service's API in the user's name. */
  readonly auth: Pick<AuthClient, "signBrowserKube" | "getConfirmation">;
  /** `ip:port` of the browser. */
  readonly peer: string;
  /** Ends the connection at any time; an attempt is given up once the agent has answered. */
  readonly signal: AbortSignal;
}

/**
 * A connection to an agent of a Kubernetes cluster for the user of a browser, by a certificate of a fresh key that the auth service signs for it alone. What
 * is written to it is HTTP/1.1 for the cluster's API server. The agent decides, records and audits as for kubectl. Throws PlatformError.
 */
export async function reachCluster(visit: ClusterVisit, services: ReachServices): Promise<TLSSocket> {
  const { cluster, confirmation = "", auth, peer, signal } = visit;
  const tls = await reachAgent(
    {
      clientAddress: peer,
      identify: async () => await confirmedUser(visit),
      kubeOf: () => cluster,
      sign: async (ask) => (await auth.signBrowserKube({ ...ask, kube: cluster, confirmation }, { signal })).tlsCertificate,
      left: signal,
    },
    services,
  );
  tls.on("error", () => {});
  const end = (): void => void tls.destroy();
  signal.addEventListener("abort", end, { once: true });
  tls.once("close", () => signal.removeEventListener("abort", end));
  return tls;
}
