import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { AuthService, type ReportNodeRequest } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { directHostDocument } from "../../../core/resources/direct-host.ts";
import { writeDocuments } from "../../../core/resources/document.ts";
import { instanceDocument } from "../../../core/resources/instance.ts";
import { recordedHostDocument } from "../../../core/resources/recorded-host.ts";
import { tunnelledHostDocument } from "../../../core/resources/tunnelled-host.ts";
import type { AuthContext } from "../auth-context.ts";
import { checkAddresses, findDirectHosts } from "../inventory/direct-hosts.ts";
import { findRecorded, isShared } from "../inventory/find-recorded.ts";
import { findTunnelled } from "../inventory/find-tunnelled.ts";
import { listInstances } from "../inventory/list-instances.ts";
import { tunnelEndings } from "../inventory/live-nodes.ts";
import { allowedServices } from "../inventory/node-services.ts";
import { type NodeReport, reportNode } from "../inventory/nodes.ts";
import { watchHosts } from "../inventory/watch-hosts.ts";
import type { RateLimit } from "../login/rate-limit.ts";
import { auditMethods } from "./audit-methods.ts";
import { authorityMethods } from "./authority-methods.ts";
import { type Caller, hostOf } from "./caller.ts";
import { channelMethods } from "./channel-methods.ts";
import { clusterMethods } from "./cluster-methods.ts";
import { connectionMethods } from "./connection-methods.ts";
import { type Api, guarded, type Handlers } from "./guard.ts";
import { hostMethods } from "./host-methods.ts";
import { maintenanceMethods } from "./maintenance-methods.ts";
import { offeredMethods } from "./offered-methods.ts";
import { recordingMethods } from "./recording-methods.ts";
import { relayMethods } from "./relay-methods.ts";
import { resourceMethods } from "./resource-methods.ts";
import { rolloutMethods } from "./rollout-methods.ts";
import { sessionMethods } from "./session-methods.ts";
import { userMethods } from "./user-methods.ts";

/** Maximum size of a request, bytes. */
export const maxRequest = 1_000_000;

/** The whole API, for callers identified by `callerOf`. */
export function authRoutes(deps: {
  context: AuthContext;
  rateLimit: RateLimit;
  callerOf: (handler: HandlerContext) => Caller;
}): (router: ConnectRouter) => void {
  const service = guarded(deps, {
    ...clusterMethods(deps),
    ...hostMethods(deps),
    ...userMethods(deps),
    ...resourceMethods(deps),
    ...auditMethods(deps),
    ...authorityMethods(deps),
    ...relayMethods(deps),
    ...channelMethods(deps),
    ...connectionMethods(deps),
    ...maintenanceMethods(deps),
    ...inventoryMethods(deps),
    ...offeredMethods(deps),
    ...rolloutMethods(deps),
    ...routeMethods(deps),
    ...recordingMethods(deps),
    ...sessionMethods(deps),
  });
  return (router) => {
    router.service(AuthService, service);
  };
}

type Methods = Handlers<"listInventory">;

function inventoryMethods(api: Api): Methods {
  return {
    listInventory: async ({ limit, cursor, ...filter }) => {
      const found = await listInstances(api.context, { filter, limit, cursor });
      return { instancesJson: writeDocuments(instanceDocument, found.instances), cursor: found.cursor };
    },
  };
}

/** Ways to hosts: reports of them, and the answers for proxies. */
function routeMethods(api: Api): Handlers<"reportNode" | "watchHosts" | "findDirectHosts"> {
  const { context } = api;
  return {
    reportNode: async (request, caller) => {
      const host = hostOf(caller);
      if (host.role === "node") context.quotas.report(host, request.statusJson.length);
      const report = nodeReport(request, host);
      const allowed: readonly string[] = await allowedServices(context.storage, report.hostId);
      await reportNode(context, { ...report, services: report.services.filter((service) => allowed.includes(service)) });
      const sharesName = await isShared(context, report.hostId, [report.hostname, ...(report.names ?? [])]);
      return { sharesName, refusedServices: report.services.filter((service) => !allowed.includes(service)) };
    },
    watchHosts: (_request, caller, signal) => watchHosts(context, hostOf(caller), signal),
    findDirectHosts: async ({ target }, caller) => {
      const hosts = await findDirectHosts(context.storage, target, context.clusterName);
      const tunnelled = await findTunnelled(context, target, hostOf(caller).id);
      const recorded = await findRecorded(context, target, new Set([...hosts, ...tunnelled].map(({ id }) => id)));
      return {
        hostsJson: writeDocuments(directHostDocument, hosts),
        tunnelledJson: writeDocuments(tunnelledHostDocument, tunnelled),
        recordedJson: writeDocuments(recordedHostDocument, recorded),
      };
    },
  };
}

/**
 * Checks a caller's report about a host. A proxy reports the hosts whose tunnels it has, without an address to dial. An agent reports
 * only itself, under a name of its certificate. Throws `denied` or `invalid`. Pure.
 */
function nodeReport(request: ReportNodeRequest, caller: HostIdentity): NodeReport {
  const { hostId, hostname, labels, services, version, connected, address, ending: told, statusJson, names } = request;
  const ending = tunnelEndings.find((one) => one === told);
  const report = { hostId, hostname, labels, services, version, connected, address, ending, statusJson, names, proxy: caller.id };
  if (caller.role !== "node") return report;
  if (hostId !== caller.id) throw new PlatformError("denied", "access denied: an agent may report only its own host");
  const wanted = hostname.toLowerCase();
  const known = caller.names.find((name) => name.toLowerCase() === wanted) ?? caller.names[0] ?? caller.id;
  const reached = checkAddresses({ addresses: request.directAddresses, shared: request.publicAddresses }, caller);
  return { ...report, hostname: known, names: caller.names, address: reached.addresses[0] ?? "", direct: { names: [...caller.names], ...reached } };
}
