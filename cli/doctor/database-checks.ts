import { openAuthClient } from "../../core/api/auth-client.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { bundlesOf, exportedKeys } from "../../core/api/trusted-keys.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { authorityExports } from "../../core/kinds/authority-kinds.ts";
import { dialWebPort } from "../../core/transport/upgrade/dial-web-port.ts";
import type { Said } from "./examination.ts";
import type { TunnelAsk } from "./tunnel-check.ts";

/** The result of one check: of a database, from this host. */
interface Checked {
  readonly name: string;
  /** Undefined: sessions would work. */
  readonly fault?: string;
}

/** Maximum number of databases that one sentence names. */
const maxNamed = 10;

/** Whether this host reaches the databases of its configuration. Throws `unavailable`, which names those that it does not reach. Pure. */
export function judgeDatabases(checked: readonly Checked[], hasResources: boolean): Said {
  const more = hasResources ? "; those of the cluster: tctl db ls" : "";
  if (checked.length === 0) return { says: `the configuration names no databases of this host's own${more}` };
  const faults = checked.flatMap(({ name, fault }) => (fault === undefined ? [] : [`${name}: ${fault}`]));
  const all = checked.length === 1 ? `database ${checked[0]?.name ?? ""} answers` : `all ${checked.length} databases answer`;
  if (faults.length === 0) return { says: `${all}, with a certificate that its tls settings accept${more}` };
  const listed = `${faults.slice(0, maxNamed).join("; ")}${faults.length > maxNamed ? `; and ${faults.length - maxNamed} more` : ""}`;
  throw new PlatformError("unavailable", `${faults.length} of ${checked.length} databases cannot be used: ${listed}`, {
    hint: "check uri and tls of the database in the configuration, the server's certificate (tctl auth sign --format=db) and firewalls on the way",
  });
}

/** PEM of the authorities that sign database servers, as the auth service has them now. Throws PlatformError. */
export async function serverAuthorities({ target, env, credentials: host }: Pick<TunnelAsk, "target" | "env"> & { credentials: HostCredentials }) {
  const credentials = { certificate: host.tlsCertificate, privateKey: host.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialWebPort(target, { env }), ca: host.hostCaPem, credentials });
  const wanted = authorityExports.find(({ type }) => type === "db");
  return wanted === undefined ? [] : exportedKeys(bundlesOf(await connection.client.getCluster({})), wanted);
}
