import { renewHost } from "../inventory/renew-host.ts";
import { checkJoin, join } from "../tokens/join.ts";
import { hostOf } from "./caller.ts";
import { clusterFacts } from "./cluster-facts.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"join" | "checkJoin" | "renewHost">;

export function hostMethods(api: Api): Methods {
  const { context, rateLimit } = api;
  /** Only refusals are counted: a thousand hosts may join at once from behind one address. */
  const limited = async <T>(address: string, work: () => Promise<T>): Promise<T> => {
    rateLimit.check(address, context.now());
    try {
      return await work();
    } catch (thrown) {
      rateLimit.take(address, context.now());
      throw thrown;
    }
  };
  return {
    join: async (request, { address }) => {
      const { token, role, hostname, names, sshPublicKey, tlsPublicKey, version, labels, services } = request;
      const ask = { token, role, hostname, names, sshPublicKey, tlsPublicKey, version, labels, services, address };
      const { id, issued } = await limited(address, () => join(context, ask));
      return { hostId: id, ...issued, cluster: clusterFacts(context) };
    },
    checkJoin: async ({ token, role, hostname, names, version, services }, { address }) => {
      const { metadata, spec } = await limited(address, () => checkJoin(context, { token, role, hostname, names, version, services, address }));
      return { expires: metadata.expires ?? "", ...(spec.uses_left !== undefined && { usesLeft: spec.uses_left }) };
    },
    renewHost: async (request, caller) => {
      const host = hostOf(caller);
      context.quotas.renewal(host);
      const { hostname, names, sshPublicKey, tlsPublicKey } = request;
      const issued = await renewHost(context, host, { hostname, names, sshPublicKey, tlsPublicKey, address: caller.address });
      return { hostId: host.id, ...issued, cluster: clusterFacts(context) };
    },
  };
}
