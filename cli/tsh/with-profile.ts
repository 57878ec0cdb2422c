import { PlatformError } from "../../core/errors/platform-error.ts";
import { type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import type { Profile } from "../profile/profile.ts";
import { loadProfile, tshHome } from "../profile/profile-folder.ts";

/** Where a proxy is when nobody says a port: the web port of an unconfigured proxy. */
export const defaultProxyPort = 3080;

/** The proxy that `--proxy` or TSH_PROXY names. */
export function proxyOption({ io, options }: Pick<Call, "io" | "options">): HostPort | undefined {
  const proxy = options.text("proxy") ?? (io.env.TSH_PROXY || undefined);
  return proxy === undefined ? undefined : parseHostPort(proxy, defaultProxyPort, "--proxy");
}

/** What `--identity` names, or the profile of that proxy, else the current one. */
export async function chosenProfile(call: Pick<Call, "io" | "options">): Promise<Profile> {
  const identity = call.options.text("identity");
  if (identity !== undefined) {
    const proxy = proxyOption(call);
    if (proxy === undefined) {
      throw new PlatformError("invalid", "an identity file does not say which proxy to use", {
        hint: "give it with --proxy=<host:port> or TSH_PROXY",
      });
    }
    const { loadIdentityFile } = await import("../profile/identity-file.ts");
    return await loadIdentityFile(identity, proxy);
  }
  return await loadProfile(tshHome(call.io.env), proxyOption(call));
}
