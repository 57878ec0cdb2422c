import { fetchTrust } from "../../core/api/fetch-trust.ts";
import { trustByPin } from "../../core/api/trust.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import { writeWarning } from "../output.ts";
import { knownAuthorities, tshHome } from "../profile/profile-folder.ts";

export interface Trust {
  /** PEM. */
  readonly ca: readonly string[];
  readonly from: "pin" | "earlier login" | "proxy";
}

/**
 * Host authorities (PEM) to trust at this proxy, from the strongest available source: a CA pin, an earlier login, a web
 * certificate that this system trusts; with `--insecure` those that the proxy sends.
 */
export async function chooseTrust({ io, options }: Call, proxy: HostPort): Promise<Trust> {
  const pins = options.list("caPin");
  if (pins.length > 0) return { ca: [await trustByPin({ open: () => dial(proxy, { env: io.env }), pins })], from: "pin" };
  if (options.flag("insecure")) {
    writeWarning(io, `--insecure: the certificate of ${proxy.host} is NOT verified; an attacker on the path can read your password`);
    const unverified = { env: io.env, insecure: true };
    return { ca: await fetchTrust(proxy, unverified), from: "proxy" };
  }
  const known = await knownAuthorities(tshHome(io.env), proxy).catch(() => undefined);
  if (known !== undefined) return { ca: known, from: "earlier login" };
  return { ca: await fetchTrust(proxy, { env: io.env }), from: "proxy" };
}
