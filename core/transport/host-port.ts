import { isIP } from "node:net";
import { PlatformError } from "../errors/platform-error.ts";
import { canonicalIp } from "./canonical-ip.ts";

export interface HostPort {
  /** Name or address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `host`, `host:port`, `[v6]`, `[v6]:port`, bare v6. Throws `invalid` naming `what`. */
export function parseHostPort(text: string, defaultPort: number | undefined, what: string): HostPort {
  const refuse = (why: string): never => {
    throw new PlatformError("invalid", `${what}: ${JSON.stringify(text)} ${why}`, { hint: "write it as host:port, an IPv6 address in brackets" });
  };
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) refuse("has a scheme");
  if (isIP(text) === 6) return defaultPort === undefined ? refuse("has no port") : { host: text, port: defaultPort };
  const parts = /^(?:\[([0-9A-Fa-f:.%A-Za-z]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  if (parts === null) return refuse("is not host:port");
  const host = (parts[1] ?? parts[2]) as string;
  if (parts[1] !== undefined && isIP(host.replace(/%.*/, "")) !== 6) refuse("has brackets around something that is not an IPv6 address");
  const port = parts[3] === undefined ? defaultPort : Number(parts[3]);
  if (port === undefined) return refuse("has no port");
  if (port > 65_535) refuse(`has port ${port}; 65535 is the highest`);
  return { host, port };
}

/** Default port of a public address: the port on which its listener was bound. */
export const listenersPort = 0;

/** The public address with the port of its listener, if it was written without one. Pure. */
export function withPort(address: HostPort, listener: HostPort): HostPort {
  return address.port === listenersPort ? { host: address.host, port: listener.port } : address;
}

export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The address of `ip`, `ip:port` or `[ip]:port`, as `canonicalIp` writes it; empty if there is none. */
export function ipOf(address: string): string {
  const host = isIP(address) > 0 ? address : (/^\[?([0-9A-Fa-f.:]+)\]?:\d{1,5}$/.exec(address)?.[1] ?? "");
  return isIP(host) > 0 ? canonicalIp(host) : "";
}
