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

/** The profile of that proxy, else the current one. */
export async function chosenProfile(call: Pick<Call, "io" | "options">): Promise<Profile> {
  return await loadProfile(tshHome(call.io.env), proxyOption(call));
}
