import { lookup as systemLookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { Attempt } from "../../core/transport/dial/attempt.ts";
import { chooseProxy, type Env, type Route } from "../../core/transport/dial/choose-proxy.ts";
import { dialRoute } from "../../core/transport/dial/dial.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import type { Answer, Examination, Said } from "./examination.ts";

/** Names to addresses, as Node's `dns.lookup` with `all`. */
export type Lookup = (host: string) => Promise<readonly { readonly address: string }[]>;

export interface PathAsk {
  readonly target: HostPort;
  readonly env: Env;
  readonly lookup?: Lookup | undefined;
}

/** The path that was found, to open connections by. */
export interface Path {
  readonly target: HostPort;
  /** A new connection to the target. Throws what `dial` throws. */
  open(attempt: Attempt): Promise<Duplex>;
}

const resolveLimitMs = 10_000;

/** Checks the path to the target's port: route, name, connection and the HTTP proxy's tunnel. Undefined: one of them failed. */
export async function examinePath(exam: Examination, { target, env, lookup = systemAddresses }: PathAsk): Promise<Path | undefined> {
  const route = await exam.check("route", () => describeRoute(target, env));
  if (route === undefined) return undefined;
  const hop = route.kind === "direct" ? target : route.url;
  if (!(await exam.passes("name", () => findName(hop, lookup)))) return undefined;
  if (!(await exam.passes("connection", () => connect(target, route)))) return undefined;
  const open = (attempt: Attempt): Promise<Duplex> => dialRoute(target, route, { attempt });
  const carries = async (): Promise<Said> => ({ says: `the proxy opens a tunnel to ${formatHostPort(target)} (${await openOnce(open)} ms)` });
  if (route.kind === "proxy" && !(await exam.passes("connect", carries))) return undefined;
  return { target, open };
}

function describeRoute(target: HostPort, env: Env): Answer<Route> {
  const route = chooseProxy(target, env);
  const wanted = formatHostPort(target);
  const says =
    route.kind === "direct" ? `${wanted} directly: ${route.why}` : `${wanted} through the proxy ${formatHostPort(route.url)}: ${route.why}`;
  return { says, value: route };
}

async function findName(hop: HostPort, lookup: Lookup): Promise<Said> {
  if (isIP(hop.host.replace(/%.*$/, "")) !== 0) return { says: `${hop.host} is an address` };
  const addresses = await resolve(hop.host, lookup);
  return { says: `${hop.host} is ${addresses.join(", ")}` };
}

async function resolve(host: string, lookup: Lookup): Promise<readonly string[]> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const hint = "check the name, and the name servers of this machine (/etc/resolv.conf)";
  const timer = setTimeout(() => reject(new PlatformError("timeout", `${host}: no name server answers`, { hint })), resolveLimitMs);
  try {
    return (await Promise.race([lookup(host), late])).map(({ address }) => address);
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    const code = cause instanceof Error && "code" in cause ? cause.code : "";
    const why = code === "ENOTFOUND" ? "the name does not exist" : "the name cannot be resolved now";
    throw new PlatformError("unavailable", `${host}: ${why}`, { hint, cause });
  } finally {
    clearTimeout(timer);
  }
}

/** To the target, or to the proxy on the path. */
async function connect(target: HostPort, route: Route): Promise<Said> {
  const hop = route.kind === "direct" ? target : route.url;
  try {
    const ms = await openOnce((attempt) => dialRoute(hop, route.kind === "direct" ? route : { kind: "direct", why: "" }, { attempt }));
    return { says: `${formatHostPort(hop)} takes a connection (${ms} ms)` };
  } catch (thrown) {
    if (route.kind === "direct" || !(thrown instanceof PlatformError)) throw thrown;
    const hint = `check ${route.url.variable}, that the proxy runs, and that this machine may reach it`;
    throw new PlatformError(thrown.code, thrown.message, { hint, cause: thrown });
  }
}

/** Returns the duration in milliseconds. */
async function openOnce(open: (attempt: Attempt) => Promise<Duplex>): Promise<number> {
  using attempt = new Attempt({});
  const start = performance.now();
  (await open(attempt)).destroy();
  return Math.round(performance.now() - start);
}

function systemAddresses(host: string): Promise<readonly { readonly address: string }[]> {
  return systemLookup(host, { all: true });
}
