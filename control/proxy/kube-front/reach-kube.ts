import type { TLSSocket } from "node:tls";
import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity, peerCertificate } from "../../../core/identity/x509-identity.ts";
import { watchPresence } from "../routing/client-presence.ts";
import type { ReachServices } from "../routing/reach-served.ts";
import { reachAgent } from "./reach-agent.ts";

export interface KubeClient {
  readonly tls: TLSSocket;
  /** `ip:port` of the client. */
  readonly peer: string;
}

export interface ReachKubeServices extends ReachServices {
  readonly auth: Pick<AuthClient, "signRelayedKube">;
}

const hint = "log in to the Kubernetes cluster with: tsh kube login <name>";

/** The way to the Kubernetes cluster that the client's certificate is for. Throws as `reachAgent`. */
export async function reachKube({ tls, peer }: KubeClient, services: ReachKubeServices): Promise<TLSSocket> {
  const { access, cluster, now, auth } = services;
  const certificate = peerCertificate(tls);
  const userCertificate = new Uint8Array(certificate ?? []);
  using presence = watchPresence(tls);
  const visit = {
    clientAddress: peer,
    left: presence.left,
    identify: async () => {
      const { userCaPem: authorities, locks } = await access.current();
      const identity = certifiedIdentity("user", { certificate, authorities, cluster, now: now() }, hint);
      const { name: user, userId, roles } = identity;
      const lock = findLock(locks, { user, userId, roles, now: now() });
      if (lock !== undefined) throw lockedError(lock);
      return identity;
    },
    kubeOf,
    sign: async (ask: { readonly hostId: string; readonly tlsPublicKey: string }) =>
      (await auth.signRelayedKube({ ...ask, userCertificate, clientAddress: peer })).tlsCertificate,
  };
  return await reachAgent(visit, services);
}

/** The one Kubernetes cluster of a certificate. Throws `denied` for another certificate. */
function kubeOf({ name: user, route }: UserIdentity): string {
  if (route?.kind === "kube") return route.name;
  throw new PlatformError("denied", `access denied: the certificate of ${user} is not for one Kubernetes cluster`, { hint });
}
