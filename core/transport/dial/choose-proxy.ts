import type { HostPort } from "../host-port.ts";
import { canonicalHost, isThisMachine } from "./canonical-host.ts";
import { matchNoProxy } from "./no-proxy.ts";
import { type ProxyUrl, parseProxyUrl } from "./proxy-url.ts";

/** Environment variables, read once in main or cli and passed down. */
export type Env = Readonly<Record<string, string | undefined>>;

/** How to reach a target. `why` explains the choice; it never holds a credential. */
export type Route =
  /** `instead`: what to do when that fails because a proxy is needed. */
  | { readonly kind: "direct"; readonly why: string; readonly instead?: string | undefined }
  | { readonly kind: "proxy"; readonly url: ProxyUrl; readonly why: string };

/** Our targets speak TLS or SSH, so HTTPS_PROXY comes first; upper case wins, an empty value counts as unset. */
const proxyVariables = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] as const;
const setProxy = "behind an HTTP proxy, set HTTPS_PROXY (the service reads it from /etc/default/platform)";
const noProxyVariables = ["NO_PROXY", "no_proxy"] as const;

/**
 * Chooses the route, direct or through a proxy, by HTTPS_PROXY, HTTP_PROXY and NO_PROXY. The machine itself is never reached through a proxy.
 * Throws `invalid` for an invalid proxy; an entry of NO_PROXY that is not understood is skipped and named in `why`.
 */
export function chooseProxy(target: HostPort, env: Env): Route {
  if (isThisMachine(canonicalHost(target.host))) return { kind: "direct", why: "the target is this machine" };
  const proxy = firstSet(env, proxyVariables);
  if (proxy === undefined) return { kind: "direct", why: "neither HTTPS_PROXY nor HTTP_PROXY is set", instead: setProxy };
  const exceptions = firstSet(env, noProxyVariables);
  const answer = matchNoProxy(target, exceptions?.value ?? "");
  const skipped = answer.notUnderstood.length === 0 ? "" : `; entries not understood: ${JSON.stringify(answer.notUnderstood)}`;
  if (answer.entry !== undefined) {
    const entry = `the entry ${JSON.stringify(answer.entry)}`;
    const instead = `to reach it through the HTTP proxy, remove ${entry} from ${exceptions?.name}`;
    return { kind: "direct", why: `${exceptions?.name} has ${entry}${skipped}`, instead };
  }
  const unmatched = exceptions === undefined ? "" : `, and no entry of ${exceptions.name} matches${skipped}`;
  return { kind: "proxy", url: parseProxyUrl(proxy.value, proxy.name), why: `${proxy.name} is set${unmatched}` };
}

function firstSet(env: Env, names: readonly string[]): { name: string; value: string } | undefined {
  for (const name of names) {
    const value = env[name]?.trim() ?? "";
    if (value !== "") return { name, value };
  }
  return undefined;
}
