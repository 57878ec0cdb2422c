import { writeDocuments } from "../../../core/resources/document.ts";
import { proxyDocument, proxyStateDocument } from "../../../core/resources/proxy.ts";
import { accessState, watchAccess } from "../access/access-state.ts";
import { rolesForKinds } from "../access/roles-for-kinds.ts";
import { trustedKeys } from "../authority/trusted-keys.ts";
import { keepClusterProxy, listProxies, proxiesRevision, proxyStates } from "../inventory/cluster-proxies.ts";
import { removedError } from "../inventory/host-records.ts";
import { keepProxyVersion } from "../inventory/keep-proxy-version.ts";
import { proxyFacts, proxyWarnings } from "../presence/proxy-warnings.ts";
import { hostOf } from "./caller.ts";
import { clusterFacts, clusterWarnings, webCertificates } from "./cluster-facts.ts";
import type { Api, Handlers } from "./guard.ts";
import { hasRule } from "./permissions.ts";

type Methods = Handlers<"getCluster" | "getAccess" | "watchAccess" | "listProxies">;

export function clusterMethods(api: Api): Methods {
  const { context } = api;
  return {
    getCluster: async (_request, caller) => {
      if (!(await hasRule(context, caller, { resource: "node", verb: "list" }))) return clusterFacts(context);
      // The warnings name hosts.
      const warnings = [...(await clusterWarnings(context)), ...proxyWarnings(await proxyFacts(context))];
      const proxiesJson = writeDocuments(proxyStateDocument, await proxyStates(context));
      return { ...clusterFacts(context), warnings, webCertificatesJson: webCertificates(context), proxiesJson };
    },
    getAccess: async ({ kinds }, caller) => {
      const { revision, roles, locks, opensshNodes } = await accessState(context);
      // An agent does not need them.
      const isAgent = caller.kind === "host" && caller.identity.role === "node";
      const access = {
        revision,
        rolesJson: [...rolesForKinds(roles, kinds)],
        locksJson: [...locks],
        opensshNodesJson: isAgent ? [] : [...opensshNodes],
      };
      return { ...access, ...trustedKeys(context.authorities), sessionRecording: context.sessionRecording };
    },
    watchAccess: async function* ({ publicAddr, version }, caller, signal) {
      const { id, role } = hostOf(caller);
      const isAgent = role === "node";
      if (!isAgent) await keepProxyVersion(context, id, version);
      const cameBack = context.proxies.isLost(id);
      using _watching = context.live.watching(id, context.now);
      using _proxy = context.proxies.watching(id, isAgent ? "" : publicAddr);
      const addr = role === "proxy" ? context.proxies.addressOf(id) : undefined;
      if (addr !== undefined) await keepClusterProxy(context, { id, addr, cameBack });
      for await (const state of watchAccess(context, signal)) {
        if (state.removedHosts.includes(id)) throw removedError(id);
        const removedHosts = isAgent ? [] : [...state.removedHosts];
        yield { revision: state.revision, removedHosts, maintenanceRevision: state.maintenanceRevision, proxiesRevision: state.proxiesRevision };
      }
    },
    listProxies: async () => {
      const revision = await proxiesRevision(context.storage);
      return { revision, proxiesJson: writeDocuments(proxyDocument, await listProxies(context.storage)) };
    },
  };
}
