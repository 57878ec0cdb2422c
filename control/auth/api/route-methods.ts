import { directHostDocument } from "../../../core/resources/direct-host.ts";
import { writeDocuments } from "../../../core/resources/document.ts";
import { recordedHostDocument } from "../../../core/resources/recorded-host.ts";
import { tunnelledHostDocument } from "../../../core/resources/tunnelled-host.ts";
import { findDirectHosts } from "../inventory/direct-hosts.ts";
import { findRecorded, isShared } from "../inventory/find-recorded.ts";
import { findTunnelled } from "../inventory/find-tunnelled.ts";
import { allowedServices } from "../inventory/node-services.ts";
import { reportNode } from "../inventory/nodes.ts";
import { watchHosts } from "../inventory/watch-hosts.ts";
import { hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { nodeReport } from "./node-report.ts";

/** Ways to hosts: reports of them, and the answers for proxies. */
export function routeMethods(api: Api): Handlers<"reportNode" | "watchHosts" | "findDirectHosts"> {
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
