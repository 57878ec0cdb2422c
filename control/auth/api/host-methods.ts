import type { ReportNodeRequest } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { writeOfferLimits } from "../../../core/api/offer-limits.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { directHostDocument, recordedHostDocument, tunnelledHostDocument } from "../../../core/resources/directory-host.ts";
import { writeDocuments } from "../../../core/resources/document.ts";
import { instanceDocument } from "../../../core/resources/instance.ts";
import { NewestFew } from "../../limits/newest-few.ts";
import { checkAddresses, checkServiceAddresses, findDirectHosts } from "../inventory/direct-hosts.ts";
import { findRecorded, findTunnelled, isShared } from "../inventory/find-hosts.ts";
import { renewHost } from "../inventory/host-certificates.ts";
import { allowedServices, offerLimits } from "../inventory/host-records.ts";
import { listInstances } from "../inventory/list-instances.ts";
import { tunnelEndings } from "../inventory/live-nodes.ts";
import { type NodeReport, reportNode } from "../inventory/nodes.ts";
import { watchHosts } from "../inventory/watch-hosts.ts";
import { checkJoin, join } from "../tokens/join.ts";
import { hostOf } from "./caller.ts";
import { clusterFacts, mostWatches, newerWatches } from "./cluster-methods.ts";
import type { Api, Handlers } from "./guard.ts";

export function hostMethods(api: Api): Handlers<"join" | "checkJoin" | "renewHost"> {
  const { context, rateLimit, joinChecks } = api;
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
      const { token, role, hostname, names, sshPublicKey, tlsPublicKey, version, labels, services, idToken } = request;
      const ask = { token, idToken, role, hostname, names, sshPublicKey, tlsPublicKey, version, labels, services, address };
      const { id, issued } = await limited(address, () => join(context, ask));
      return { hostId: id, ...issued, cluster: clusterFacts(context) };
    },
    checkJoin: async ({ token, idToken, role, hostname, names, version, services }, { address }) => {
      const ask = { token, idToken, role, hostname, names, version, services, address };
      joinChecks.take(address, context.now());
      const { metadata, spec } = await limited(address, () => checkJoin(context, ask));
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

export function inventoryMethods(api: Api): Handlers<"listInventory"> {
  return {
    listInventory: async ({ limit, cursor, ...filter }) => {
      const found = await listInstances(api.context, { filter, limit, cursor });
      return { instancesJson: writeDocuments(instanceDocument, found.instances), cursor: found.cursor };
    },
  };
}

/** Ways to hosts: reports of them, and the answers for proxies. */
export function routeMethods(api: Api): Handlers<"reportNode" | "watchHosts" | "findDirectHosts"> {
  const { context } = api;
  const watches = new NewestFew(mostWatches.ofProxy);
  return {
    reportNode: async (request, caller) => {
      const host = hostOf(caller);
      if (host.role === "node") context.quotas.report(host, request.statusJson.length);
      const report = nodeReport(request, host);
      const allowed: readonly string[] = await allowedServices(context.storage, report.hostId);
      await reportNode(context, { ...report, services: report.services.filter((service) => allowed.includes(service)) });
      const sharesName = await isShared(context, report.hostId, [report.hostname, ...(report.names ?? [])]);
      const limits = await offerLimits(context.storage, report.hostId);
      return {
        sharesName,
        refusedServices: report.services.filter((service) => !allowed.includes(service)),
        offerLimits: [...writeOfferLimits(limits)],
      };
    },
    watchHosts: async function* (_request, caller, signal) {
      const host = hostOf(caller);
      using place = watches.enter(host.id);
      yield* watchHosts(context, host, AbortSignal.any([signal, place.signal]));
      if (place.signal.aborted) throw newerWatches();
    },
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
  const { hostId, hostname, labels, services, version, connected, address, ending: reported, statusJson, names } = request;
  const ending = tunnelEndings.find((one) => one === reported);
  const report = { hostId, hostname, labels, services, version, connected, address, ending, statusJson, names, proxy: caller.id };
  if (caller.role !== "node") return report;
  if (hostId !== caller.id) throw new PlatformError("denied", "access denied: an agent may report only its own host");
  const wanted = hostname.toLowerCase();
  const known = caller.names.find((name) => name.toLowerCase() === wanted) ?? caller.names[0] ?? caller.id;
  const reached = checkAddresses({ addresses: request.directAddresses, shared: request.publicAddresses }, caller);
  const own = checkServiceAddresses(request.serviceAddresses);
  const direct = { names: [...caller.names], ...reached, ...(own !== undefined && { services: own }) };
  return { ...report, hostname: known, names: caller.names, address: reached.addresses[0] ?? "", direct };
}
