import { appFacts } from "../../../core/resources/app-details.ts";
import { formatPorts, onlyPort } from "../../../core/resources/tcp-ports.ts";
import { httpsGet } from "../../../core/transport/dial/https-get.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../../core/transport/host-port.ts";
import type { CliIo } from "../../io.ts";
import type { ListedResource } from "../served/list-served.ts";

/** Where a proxy serves applications under host names of their own. */
export interface AppPlaces {
  /** Applications without an address of their own are below it; empty: they have no host name. */
  readonly domain: string;
  readonly port: number;
  /** Whether this machine trusts the proxy's certificate, as curl does; otherwise clients need the cluster's authority. */
  readonly isTrusted: boolean;
}

const unknown: AppPlaces = { domain: "", port: 443, isTrusted: false };
/** Longest answer, bytes. */
const maxAnswer = 65_536;

/** As the proxy states it. Nothing depends on the truth of the answer: clients verify the certificate of the address. Never throws. */
export async function appPlaces({ env }: Pick<CliIo, "env">, proxy: HostPort): Promise<AppPlaces> {
  try {
    const { status, body, isTrusted = true } = await httpsGet(proxy, "/webapi/find", { env, insecure: true, maxBytes: maxAnswer });
    return status === 200 ? { ...announcedPlaces(body.toString("utf8")), isTrusted } : unknown;
  } catch {
    return unknown;
  }
}

/** The domain and port in a proxy's answer; no domain for any other text. Pure. */
export function announcedPlaces(answer: string): Pick<AppPlaces, "domain" | "port"> {
  try {
    const { proxy } = JSON.parse(answer) as {
      readonly proxy?: { readonly app?: { readonly domain?: unknown }; readonly ssh?: { readonly public_addr?: unknown } };
    };
    const [domain, address] = [proxy?.app?.domain, proxy?.ssh?.public_addr];
    const { port } = parseHostPort(typeof address === "string" ? address : "", undefined, "the proxy's address");
    if (port === 0) return unknown;
    return { domain: typeof domain === "string" && hostName.test(domain) ? domain.toLowerCase() : "", port };
  } catch {
    return unknown;
  }
}

const hostName = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/;

type ListedApp = Pick<ListedResource, "name" | "details">;

export function appType({ details }: ListedApp): "HTTP" | "TCP" {
  return details.scheme === "http" ? "HTTP" : "TCP";
}

/** Ports of a TCP application that has several, in words: `5432, 6000-6010`; empty for any other. Pure. */
export function shownPorts(app: ListedApp): string {
  return formatPorts(appFacts(app).tcpPorts ?? []).replaceAll(",", ", ");
}

/** The command that opens a local port to an application: with its first target port where it has several. Pure. */
export function proxyCommand(app: ListedApp): readonly string[] {
  const { tcpPorts = [] } = appFacts(app);
  const [first] = tcpPorts;
  return ["tsh", "proxy", "app", app.name, ...(first === undefined || onlyPort(tcpPorts) !== undefined ? [] : [`--port=0:${first.port}`])];
}

/** The address of an application at the proxy's web port; undefined: it has none. Pure. */
export function publicAddress({ name, details }: ListedApp, { domain, port }: AppPlaces): HostPort | undefined {
  const { public_addr: own = domain === "" ? "" : `${name}.${domain}` } = details;
  return hostName.test(own) ? { host: own.toLowerCase(), port } : undefined;
}

/** The address for people: a URI of a web application, without the usual port. Empty for none. Pure. */
export function shownAddress(app: ListedApp, places: AppPlaces): string {
  const address = publicAddress(app, places);
  if (address === undefined) return "";
  if (appType(app) === "TCP") return formatHostPort(address);
  return `https://${address.port === 443 ? address.host : formatHostPort(address)}`;
}
