import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseHostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import type { Profile } from "../profile/profile.ts";
import { loadProfile, type NamedProxy, tshHome } from "../profile/profile-folder.ts";

/** Ports of a proxy when none is given: the default web port of a proxy, and that of HTTPS. */
const defaultProxyPorts = [3080, 443] as const;

/** The proxy that `--proxy` or TSH_PROXY names. With `https://`, as in a browser's address bar, the port is 443. Throws `invalid`. */
export function proxyOption({ io, options }: Pick<Call, "io" | "options">): NamedProxy | undefined {
  const given = options.text("proxy") ?? (io.env.TSH_PROXY || undefined);
  if (given === undefined) return undefined;
  const [first, second] = defaultProxyPorts;
  const address = /^https:\/\/([^/]*)\/?$/i.exec(given)?.[1];
  if (address !== undefined) return parseHostPort(address, second, "--proxy");
  const isPortGiven = /^(?:\[[^\]]*\]|[^:[\]]*):\d*$/.test(given);
  const proxy = parseHostPort(given, first, "--proxy");
  return isPortGiven ? proxy : { ...proxy, otherPort: second };
}

/** The profile of `--identity`, or of that proxy, else the current one. */
export async function chosenProfile(call: Pick<Call, "io" | "options">): Promise<Profile> {
  const identity = call.options.text("identity");
  if (identity !== undefined) {
    const proxy = proxyOption(call);
    if (proxy === undefined) {
      throw new PlatformError("invalid", "an identity file does not name the proxy", {
        hint: "give it with --proxy=<host:port> or TSH_PROXY",
      });
    }
    const { loadIdentityFile } = await import("../profile/identity-file.ts");
    return await loadIdentityFile(identity, proxy);
  }
  return await loadProfile(tshHome(call.io.env), proxyOption(call));
}
