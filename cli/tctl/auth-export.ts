import { bundlesOf, exportedKeys } from "../../core/api/authority-bundles.ts";
import { caPin } from "../../core/api/trust.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { authorityExports } from "../../core/kinds/authority-kinds.ts";
import { sshFingerprint } from "../../core/ssh/keys.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { hostPatterns, knownHostsLines } from "../profile/known-hosts.ts";
import { withAdmin } from "./connect.ts";

/** `tctl auth export`: public keys of the authorities, in the format of their readers. */
export async function exportAuthority(call: Call): Promise<Result> {
  const type = call.options.text("type") ?? "host";
  const hosts = call.options.list("hosts");
  if (hosts.length > 0 && type !== "host") throw new PlatformError("invalid", "--hosts is only for --type=host", { hint: "leave it out" });
  return await withAdmin(call, async ({ client }) => {
    const cluster = await client.getCluster({});
    const known = authorityExports.find((one) => one.type === type);
    if (known === undefined) throw new PlatformError("invalid", `unknown authority type ${type}`);
    const patterns = hosts.length > 0 ? hosts : hostPatterns(cluster.clusterName);
    const forms = {
      known_hosts: (line: string) => ({ entry: knownHostsLines(patterns, [line], cluster.clusterName).join(""), fingerprint: sshFingerprint(line) }),
      ssh_keys: (line: string) => ({
        entry: `${line.trim().split(/\s+/).slice(0, 2).join(" ")} ${cluster.clusterName}-${known.authority}-ca`,
        fingerprint: sshFingerprint(line),
      }),
      pem: (pem: string) => ({ entry: pem.trim(), fingerprint: caPin(pem) }),
    };
    const keys = exportedKeys(bundlesOf(cluster), known).map((key) => forms[known.form](key));
    const wanted = call.options.text("fingerprint");
    const chosen = keys.filter(({ fingerprint }) => wanted === undefined || fingerprint === wanted);
    if (chosen.length === 0) {
      throw new PlatformError("not_found", `no key of ${type} has the fingerprint ${wanted}`, {
        hint: `there are ${keys.map(({ fingerprint }) => fingerprint).join(", ")}`,
      });
    }
    const [entries, fingerprints] = [chosen.map(({ entry }) => entry), chosen.map(({ fingerprint }) => fingerprint)];
    return { data: { type, cluster: cluster.clusterName, entries, fingerprints }, text: entries.join("\n") };
  });
}
