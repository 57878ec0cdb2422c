import { PlatformError } from "../../errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import type { ProxyUrl } from "./proxy-url.ts";

/**
 * The request of RFC 9110 section 9.3.6, with basic authentication (RFC 7617) when there are credentials:
 *
 *   CONNECT host:port HTTP/1.1 CRLF
 *   Host: host:port CRLF
 *   Proxy-Authorization: Basic base64(user:password) CRLF
 *   CRLF
 *
 * Throws `invalid` for a host that does not fit into the request line.
 */
export function encodeConnectRequest(target: HostPort, credentials: ProxyUrl["credentials"]): Buffer {
  if (!/^[A-Za-z0-9._:-]{1,255}$/.test(target.host)) {
    throw new PlatformError("invalid", `${JSON.stringify(target.host)} is not a host that can be requested from a proxy`);
  }
  const authority = formatHostPort(target);
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`, "User-Agent: platform"];
  if (credentials !== undefined) {
    const token = Buffer.from(`${credentials.user}:${credentials.password}`, "utf8").toString("base64");
    lines.push(`Proxy-Authorization: Basic ${token}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
