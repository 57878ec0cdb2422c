import { PlatformError } from "../../core/errors/platform-error.ts";
import { chooseProxy, type Env } from "../../core/transport/dial/choose-proxy.ts";
import type { ProxyUrl } from "../../core/transport/dial/proxy-url.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { standardPath } from "../standard-path.ts";
import { UpgradeError } from "../upgrade-error.ts";

/** No prompts, no restarted services, and the same messages, language and programs everywhere. */
const quiet = {
  PATH: standardPath,
  HOME: "/root",
  LC_ALL: "C.UTF-8",
  TERM: "dumb",
  DEBIAN_FRONTEND: "noninteractive",
  DEBIAN_PRIORITY: "critical",
  APT_LISTCHANGES_FRONTEND: "none",
  APT_LISTBUGS_FRONTEND: "none",
  UCF_FORCE_CONFFOLD: "1",
  NEEDRESTART_MODE: "l",
  NEEDRESTART_SUSPEND: "1",
  // We do the waiting ourselves.
  ZYPP_LOCK_TIMEOUT: "0",
} as const;

/**
 * The environment of a package manager. A proxy with its password reaches it this way and never on a command line;
 * whether the repository is behind one is decided by our rules (chooseProxy), which every package manager would read differently.
 * Throws UpgradeError `not_configured` for an invalid proxy.
 */
export function childEnvironment(env: Env, repository: HostPort | undefined): Record<string, string> {
  if (repository === undefined) return quiet;
  try {
    const route = chooseProxy(repository, env);
    if (route.kind === "direct") return quiet;
    const proxy = proxyText(route.url);
    return { ...quiet, http_proxy: proxy, https_proxy: proxy, HTTPS_PROXY: proxy };
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    throw new UpgradeError("not_configured", thrown.hint === undefined ? thrown.message : `${thrown.message}; ${thrown.hint}`);
  }
}

function proxyText({ scheme, host, port, credentials }: ProxyUrl): string {
  const user = credentials === undefined ? "" : `${encodeURIComponent(credentials.user)}:${encodeURIComponent(credentials.password)}@`;
  return `${scheme}://${user}${host.includes(":") ? `[${host}]` : host}:${port}`;
}
