import type { TLSSocket } from "node:tls";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { offeringAgents } from "../routing/offering-agents.ts";
import { type ReachServices, reachServed, type ServedWay } from "../routing/reach-served.ts";

/** A connection of a user to one Kubernetes cluster. */
export interface KubeVisit extends Pick<ServedWay<"kube">, "clientAddress" | "identify" | "sign"> {
  /** Name of the Kubernetes cluster. Throws `denied`. */
  readonly kubeOf: (identity: UserIdentity) => string;
  readonly left: AbortSignal;
}

/** Agents that are tried for one connection. */
const maxTries = 3;

/**
 * The way to a Kubernetes cluster, as `reachServed`: by the next agent when one does not answer. A cluster that does not exist and one that the user's roles
 * do not allow are refused alike. Throws PlatformError.
 */
export async function reachAgent(visit: KubeVisit, services: ReachServices): Promise<TLSSocket> {
  const tried = new Set<string>();
  for (;;) {
    const attempt: Attempt = { stage: "user", host: "" };
    try {
      const agent = await reachServed<"kube">(wayTo(visit, { attempt, tried, services }), services);
      if (!visit.left.aborted) return agent;
      agent.destroy();
      throw new PlatformError("unavailable", "the client has left");
    } catch (thrown) {
      const error = toPlatformError(thrown);
      tried.add(attempt.host);
      const isAway = error.code === "unavailable" || error.code === "timeout";
      if (
        isAway &&
        attempt.stage === "agent" &&
        !visit.left.aborted &&
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
  readonly services: ReachServices;
}

function wayTo({ clientAddress, identify, kubeOf, sign, left }: KubeVisit, { attempt, tried, services }: Trying): ServedWay<"kube"> {
  return {
    clientAddress,
    identify,
    left,
    request: (identity) => {
      const target = kubeOf(identity);
      Object.assign(attempt, { stage: "routing", kube: target });
      const host = tried.size === 0 ? "" : (nextHost(target, tried, services) ?? "");
      return { kind: "kube", target, parameters: { host } } as const;
    },
    sign: async (ask) => {
      Object.assign(attempt, { stage: "agent", host: ask.hostId });
      return await sign(ask);
    },
  };
}

/** A host that offers the cluster and was not tried. */
function nextHost(kube: string, tried: ReadonlySet<string>, services: ReachServices): string | undefined {
  return offeringAgents({ kind: "kube", name: kube }, services)
    .map(({ agent }) => agent.identity.id)
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
