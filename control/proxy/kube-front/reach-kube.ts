import type { TLSSocket } from "node:tls";
import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import type { AuthClient } from "../../../core/api/auth-client.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity, peerCertificate } from "../../../core/identity/x509-identity.ts";
import { type ReachServices, reachServed } from "../routing/reach-served.ts";

export interface KubeClient {
  readonly tls: TLSSocket;
  /** `ip:port` of the client. */
  readonly peer: string;
}

export interface ReachKubeServices extends ReachServices {
  readonly auth: Pick<AuthClient, "signRelayedKube">;
}

/** Agents that are tried for one connection. */
const maxTries = 3;
const hint = "log in to the Kubernetes cluster with: tsh kube login <name>";

/**
 * The way to the Kubernetes cluster that the client's certificate is for, as `reachServed`: by the next agent when one does not answer. A cluster that does
 * not exist and one that the user's roles do not allow are refused alike. Throws PlatformError.
 */
export async function reachKube({ tls, peer }: KubeClient, services: ReachKubeServices): Promise<TLSSocket> {
  const certificate = peerCertificate(tls);
  const tried = new Set<string>();
  for (;;) {
    const attempt: Attempt = { stage: "user", host: "" };
    try {
      const agent = await reachServed<"kube">(wayTo({ certificate, peer }, { attempt, tried, services }), services);
      if (!tls.destroyed) return agent;
      agent.destroy();
      throw new PlatformError("unavailable", "the client has left");
    } catch (thrown) {
      const error = toPlatformError(thrown);
      tried.add(attempt.host);
      const isAway = error.code === "unavailable" || error.code === "timeout";
      if (
        isAway &&
        attempt.stage === "agent" &&
        !tls.destroyed &&
        tried.size < maxTries &&
        nextHost(attempt.kube ?? "", tried, services) !== undefined
      )
        continue;
      throw attempt.stage === "routing" ? withoutDifference(error, attempt.kube ?? "") : thrown;
    }
  }
}

/** How far a try got. */
interface Attempt {
  stage: "user" | "routing" | "agent";
  kube?: string;
  /** Id of the host that was chosen. */
  host: string;
}

interface Trying {
  readonly attempt: Attempt;
  /** Ids of hosts whose agents did not answer. */
  readonly tried: ReadonlySet<string>;
  readonly services: ReachKubeServices;
}

function wayTo({ certificate, peer }: { readonly certificate: Buffer | undefined; readonly peer: string }, { attempt, tried, services }: Trying) {
  const { access, cluster, now, auth } = services;
  const userCertificate = new Uint8Array(certificate ?? []);
  return {
    clientAddress: peer,
    identify: async () => {
      const { userCaPem: authorities, locks } = await access.current();
      const identity = certifiedIdentity("user", { certificate, authorities, cluster, now: now() }, hint);
      const { name: user, userId, roles } = identity;
      const lock = findLock(locks, { user, userId, roles, now: now() });
      if (lock !== undefined) throw lockedError(lock);
      return identity;
    },
    request: (identity: UserIdentity) => {
      const target = kubeOf(identity);
      Object.assign(attempt, { stage: "routing", kube: target });
      const host = tried.size === 0 ? "" : (nextHost(target, tried, services) ?? "");
      return { kind: "kube", target, parameters: { host } } as const;
    },
    sign: async (ask: { readonly hostId: string; readonly tlsPublicKey: string }) => {
      Object.assign(attempt, { stage: "agent", host: ask.hostId });
      return (await auth.signRelayedKube({ ...ask, userCertificate, clientAddress: peer })).tlsCertificate;
    },
  };
}

/** The one Kubernetes cluster of a certificate. Throws `denied` for another certificate. */
function kubeOf({ name: user, route }: UserIdentity): string {
  if (route?.kind === "kube") return route.name;
  throw new PlatformError("denied", `access denied: the certificate of ${user} is not for one Kubernetes cluster`, { hint });
}

/** A host that offers the cluster and was not tried. */
function nextHost(kube: string, tried: ReadonlySet<string>, { registry }: Pick<ReachKubeServices, "registry">): string | undefined {
  return registry
    .offering("kube", kube)
    .map(({ tunnel }) => tunnel.identity.id)
    .find((id) => !tried.has(id));
}

/** The same words for a cluster that does not exist, one without an agent, and one that is not allowed; the audit log has the reason. */
function withoutDifference(error: PlatformError, kube: string): PlatformError {
  if (error.code !== "denied" && error.code !== "not_found") return error;
  const name = JSON.stringify(kube.slice(0, 64));
  return new PlatformError("not_found", `Kubernetes cluster ${name} does not exist, has no connected agent, or your roles do not allow it`, {
    hint: "`tsh kube ls` lists those that you may use",
    cause: error,
  });
}
