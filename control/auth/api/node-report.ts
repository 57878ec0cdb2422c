import type { ReportNodeRequest } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { checkAddresses } from "../inventory/direct-hosts.ts";
import { tunnelEndings } from "../inventory/live-nodes.ts";
import type { NodeReport } from "../inventory/nodes.ts";

/**
 * Checks a caller's report about a host. A proxy reports the hosts whose tunnels it has, without an address to dial. An agent reports
 * only itself, under a name of its certificate. Throws `denied` or `invalid`. Pure.
 */
export function nodeReport(request: ReportNodeRequest, caller: HostIdentity): NodeReport {
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
