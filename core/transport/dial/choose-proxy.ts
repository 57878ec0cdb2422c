import { BlockList, isIP } from "node:net";
import type { HostPort } from "../host-port.ts";
import { type CanonicalHost, canonicalHost, isThisMachine } from "./canonical-host.ts";
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

/**
 * One entry of NO_PROXY, as in Go's httpproxy, plus ports:
 *
 *   *                     everything                 10.0.0.0/8, fd00::/8   addresses in the network
 *   example.com           it and names below it      10.1.2.3, fd00::1      that address
 *   .example.com, *.…     only names below it        3024, :3024, *:3024    that port of every host
 *   name:3024, 10.1.2.3:3024, [fd00::1]:3024         only that port
 */
type NoProxyEntry =
  | { readonly kind: "everything" }
  | { readonly kind: "network"; readonly network: BlockList; readonly family: "ipv4" | "ipv6" }
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "domain"; readonly name: string; readonly itself: boolean };

interface Parsed {
  readonly text: string;
  /** Undefined for every port. */
  readonly port: number | undefined;
  readonly entry: NoProxyEntry;
}

interface NoProxyAnswer {
  /** The first entry that matches, as written. */
  readonly entry?: string;
  /** Entries without a meaning here: skipped, and shown in explanations. */
  readonly notUnderstood: readonly string[];
}

/** Finds the entry of NO_PROXY (separated by commas or white space) that excludes the target. Networks match only addresses: no name is resolved. */
export function matchNoProxy(target: HostPort, list: string): NoProxyAnswer {
  const host = canonicalHost(target.host);
  const notUnderstood: string[] = [];
  for (const text of list.split(/[\s,]+/).filter((part) => part !== "")) {
    const parsed = parseEntry(text);
    if (parsed === undefined) notUnderstood.push(text);
    else if ((parsed.port === undefined || parsed.port === target.port) && matches(parsed.entry, host)) return { entry: text, notUnderstood };
  }
  return { notUnderstood };
}

function matches(entry: NoProxyEntry, host: CanonicalHost): boolean {
  if (entry.kind === "everything") return true;
  if (entry.kind === "domain") {
    if (host.kind !== "name") return false;
    return (entry.itself && host.name === entry.name) || host.name.endsWith(`.${entry.name}`);
  }
  if (host.kind !== "address") return false;
  if (entry.kind === "address") return entry.address === host.address;
  // A BlockList also treats an IPv4 address as an IPv6 one.
  return entry.family === host.family && entry.network.check(host.address, host.family);
}

function parseEntry(text: string): Parsed | undefined {
  const slash = text.lastIndexOf("/");
  if (slash >= 0) {
    const entry = parseNetwork(text.slice(0, slash), text.slice(slash + 1));
    return entry && { text, port: undefined, entry };
  }
  // A resolver treats a number alone as an address (0.0.11.208), which is not meant here.
  const split = isIP(text) === 6 ? null : /^(?:(.*):)?(\d{1,5})$/.exec(text);
  const port = split === null ? undefined : Number(split[2]);
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined;
  const entry = parseHost(split === null ? text : (split[1] ?? ""), port !== undefined);
  return entry && { text, port, entry };
}

function parseHost(text: string, hasPort: boolean): NoProxyEntry | undefined {
  if (text === "*" || (text === "" && hasPort)) return { kind: "everything" };
  const bracketed = /^\[(.*)\]$/.exec(text);
  if (bracketed !== null && isIP((bracketed[1] ?? "").replace(/%.*$/, "")) !== 6) return undefined;
  if (/^\d+$/.test(text)) return undefined;
  const below = /^\*?\./.exec(text);
  const bare = below === null ? text : text.slice(below[0].length);
  const host = canonicalHost(bare);
  if (host.kind === "address" && below === null) return { kind: "address", address: host.address };
  const name = host.kind === "name" ? host.name : bare;
  return /^[^.*:[\]@][^*:[\]@]*$/.test(name) ? { kind: "domain", name, itself: below === null } : undefined;
}

function parseNetwork(address: string, bits: string): NoProxyEntry | undefined {
  const bare = address.replace(/^\[(.*)\]$/, "$1");
  const written = isIP(bare);
  if (written === 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  const host = canonicalHost(bare);
  if (host.kind !== "address") return undefined;
  // The prefix of an IPv4-mapped network includes its first 96 bits.
  const prefix = Number(bits) - (written === 6 && host.family === "ipv4" ? 96 : 0);
  if (prefix < 0 || prefix > (host.family === "ipv4" ? 32 : 128)) return undefined;
  const network = new BlockList();
  network.addSubnet(host.address, prefix, host.family);
  return { kind: "network", network, family: host.family };
}
