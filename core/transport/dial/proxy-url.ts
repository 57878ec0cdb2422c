import { isIPv6 } from "node:net";
import { PlatformError } from "../../errors/platform-error.ts";
import { canonicalHost, isThisMachine } from "./canonical-host.ts";

/** An HTTP proxy from HTTPS_PROXY or HTTP_PROXY. */
export interface ProxyUrl {
  readonly scheme: "http" | "https";
  /** IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Percent-decoded. The password is never printed. */
  readonly credentials?: { readonly user: string; readonly password: string };
  /** The variable from which it was read, for messages. */
  readonly variable: string;
}

const maxLength = 4096;
const form = "write it as scheme://[user[:password]@]host:port, where scheme is http or https";
const escapes = "percent-encode special characters in the user and password: @ is %40, : is %3A, / is %2F, # is %23, % is %25";

/**
 * Reads `scheme://[user[:password]@]host:port`; default scheme `http`, default port 80 or 443.
 * Throws `invalid`. No message repeats the value, since any part of a mistyped one may be the password.
 */
export function parseProxyUrl(text: string, variable: string): ProxyUrl {
  const refuse = (why: string, hint = form): never => {
    throw new PlatformError("invalid", `${variable} ${why}`, { hint });
  };
  if (text.length > maxLength) refuse(`is longer than ${maxLength} characters`);
  const [, written, rest = ""] = /^(?:([^:/@]*):\/\/)?(.*)$/s.exec(text) ?? [];
  const scheme = (written ?? "http").toLowerCase();
  if (scheme !== "http" && scheme !== "https") return refuse("names a proxy by a scheme that is not http or https");
  const at = rest.lastIndexOf("@");
  const userInfo = at < 0 ? undefined : rest.slice(0, at);
  if (userInfo !== undefined && /[/?#\\\s]/.test(userInfo)) refuse("has characters in the user or password that must be encoded", escapes);
  const parts = /^(?:\[([0-9A-Fa-f:.]+(?:%[0-9A-Za-z._-]+)?)\]|([A-Za-z0-9._-]+))(?::(\d*))?\/?$/.exec(rest.slice(at + 1));
  if (parts === null) return refuse("is not the address of a proxy");
  const host = parts[1] ?? parts[2] ?? "";
  if (parts[1] !== undefined && !isIPv6(host.replace(/%.*$/, ""))) refuse("has brackets around something that is not an IPv6 address");
  const port = parts[3] === undefined || parts[3] === "" ? (scheme === "https" ? 443 : 80) : Number(parts[3]);
  if (port < 1 || port > 65_535) refuse("has a port that is not between 1 and 65535");
  checkProxyHost(host, refuse);
  const credentials = userInfo === undefined || userInfo === "" ? undefined : parseCredentials(userInfo, refuse);
  return { scheme, host, port, ...(credentials && { credentials }), variable };
}

type Refuse = (why: string, hint?: string) => never;

function checkProxyHost(host: string, refuse: Refuse): void {
  const canonical = canonicalHost(host);
  if (isThisMachine(canonical)) {
    refuse("names localhost or a loopback address as the proxy, which is not allowed", "use the proxy's DNS name or its private IP address instead");
  }
  if (canonical.kind === "name" && /(^|\.)(\d+|)$/.test(canonical.name)) refuse("has a host that is neither a name nor an address");
}

function parseCredentials(userInfo: string, refuse: Refuse): { user: string; password: string } {
  const colon = userInfo.indexOf(":");
  const decode = (part: string): string => {
    try {
      return decodeURIComponent(part);
    } catch {
      return refuse("has a user or password with a broken percent-encoding", escapes);
    }
  };
  const user = decode(colon < 0 ? userInfo : userInfo.slice(0, colon));
  const password = colon < 0 ? "" : decode(userInfo.slice(colon + 1));
  if (user.includes(":")) refuse("has a user name with a colon, which basic authentication cannot carry");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 7617 section 2 forbids exactly these
  if (/[\u0000-\u001f\u007f]/.test(user + password)) refuse("has control characters in the user or password");
  return { user, password };
}
