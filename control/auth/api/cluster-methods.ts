import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetClusterResponseSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { writeDocument, writeDocuments } from "../../../core/resources/document.ts";
import { proxyDocument, proxyStateDocument } from "../../../core/resources/proxy.ts";
import { proxyCertificateDocument } from "../../../core/resources/proxy-facts.ts";
import { version as ownVersion } from "../../../core/versions/version.ts";
import { NewestFew } from "../../limits/newest-few.ts";
import { accessState, rolesForKinds, watchAccess } from "../access/access-state.ts";
import type { AuthContext } from "../auth-context.ts";
import { trustedKeys } from "../authority/open-authorities.ts";
import { keepClusterProxy, listProxies, proxiesRevision, proxyStates } from "../inventory/cluster-proxies.ts";
import { keepProxyVersion, removedError } from "../inventory/host-records.ts";
import { renewalSpread } from "../rotation/renewal-spread.ts";
import { clusterWarnings } from "../warnings/cluster-warnings.ts";
import { hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { hasRule } from "./permissions.ts";

/**
 * Watches of one host at a time: one for each of its processes, two while it moves to another connection, and for a while those whose connections were
 * lost in silence: it is for their sake that a further one ends the oldest, and is not refused. Of an agent, the processes that a new one has replaced
 * have none. A proxy has one process more for each reload that sessions outlast; more of them than this would end each other's watches all the time.
 * Each costs this service one reading of all roles at every change (a few ms for 100 of them), and `watchHosts` some 600 bytes for
 * each of at most 20,000 hosts.
 */
export const mostWatches = { ofAgent: 16, ofProxy: 128 } as const;

/** An older one has to end; its process, if there is still one, tries again with back-off. */
export function newerWatches(): PlatformError {
  return new PlatformError("unavailable", "this host has begun too many newer watches");
}

export function clusterMethods(api: Api): Handlers<"getCluster" | "getAccess" | "watchAccess" | "listProxies"> {
  const { context } = api;
  const [ofAgents, ofProxies] = [new NewestFew(mostWatches.ofAgent), new NewestFew(mostWatches.ofProxy)];
  return {
    getCluster: async (_request, caller) => {
      if (!(await hasRule(context, caller, { resource: "node", verb: "list" }))) return clusterFacts(context);
      // The warnings name hosts.
      const warnings = [...(await clusterWarnings(context))];
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
      const renewalSpreadSeconds = isAgent ? await spreadForAgents(context) : 0;
      return { ...access, ...trustedKeys(context.authorities), sessionRecording: context.sessionRecording, renewalSpreadSeconds };
    },
    watchAccess: async function* ({ publicAddr, version }, caller, signal) {
      const { id, role } = hostOf(caller);
      const isAgent = role === "node";
      if (!isAgent) await keepProxyVersion(context.storage, id, version);
      using place = (isAgent ? ofAgents : ofProxies).enter(id);
      const cameBack = context.proxies.isLost(id);
      using _watching = context.live.watching(id, context.now);
      using _proxy = context.proxies.watching(id, isAgent ? "" : publicAddr);
      const addr = role === "proxy" ? context.proxies.addressOf(id) : undefined;
      if (addr !== undefined) await keepClusterProxy(context, { id, addr, cameBack });
      for await (const state of watchAccess(context, AbortSignal.any([signal, place.signal]))) {
        if (state.removedHosts.includes(id)) throw removedError(id);
        const removedHosts = isAgent ? [] : [...state.removedHosts];
        const { revision, maintenanceRevision, proxiesRevision: proxies, resourcesRevision } = state;
        yield { revision, removedHosts, maintenanceRevision, proxiesRevision: proxies, resourcesRevision };
      }
      if (place.signal.aborted) throw newerWatches();
    },
    listProxies: async () => {
      const revision = await proxiesRevision(context.storage);
      return { revision, proxiesJson: writeDocuments(proxyDocument, await listProxies(context.storage)) };
    },
  };
}

/** Public facts about the cluster. */
export function clusterFacts(context: AuthContext): MessageInitShape<typeof GetClusterResponseSchema> {
  const { host } = context.authorities;
  return {
    clusterName: context.clusterName,
    version: ownVersion,
    ...trustedKeys(context.authorities),
    caPins: host.trusted.map(({ pin }) => pin),
    proxyListenerMode: context.listenerMode,
    proxyPublicAddrs: [...context.proxies.addresses()],
  };
}

/** Certificates of the proxies' web addresses, JSON each. */
function webCertificates({ proxies, proxyReports }: AuthContext): string[] {
  return proxyReports
    .certificates()
    .map((one) => writeDocument(proxyCertificateDocument, { ...one, proxy: proxies.addressOf(one.proxy) ?? one.proxy }));
}

/** Seconds; 0, which leaves it to the agents, where a record of some host cannot be read: no agent may lack its roles and locks for that. */
async function spreadForAgents({ namesInUse, authorities }: AuthContext): Promise<number> {
  const hosts = await namesInUse.agentCount().catch(() => undefined);
  return hosts === undefined ? 0 : renewalSpread(hosts, authorities.rotation("host"));
}
