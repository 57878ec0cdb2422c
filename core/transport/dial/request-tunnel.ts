import type { Socket } from "node:net";
import { PlatformError } from "../../errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import type { Attempt } from "./attempt.ts";
import { connectionError } from "./connection-error.ts";
import type { ProxyUrl } from "./proxy-url.ts";

/**
 * Asks a connected proxy for a tunnel. Bytes of the tunnel that arrived with the answer stay readable.
 * Throws `unauthenticated` (401, 407), `unavailable`, `timeout`, `invalid`; the caller destroys the socket then.
 */
export async function requestTunnel(socket: Socket, { target, url, attempt }: { target: HostPort; url: ProxyUrl; attempt: Attempt }): Promise<void> {
  const proxy = formatHostPort(url);
  attempt.waitingFor = `the answer of the proxy ${proxy} to CONNECT ${formatHostPort(target)}`;
  socket.write(encodeConnectRequest(target, url.credentials));
  const reply = await readReply(socket, { target, url, attempt });
  if (reply.kind === "malformed") throw malformedError(reply, target, url);
  if (reply.status < 200 || reply.status > 299) throw refusedError(reply, target, url);
}

type Final = Exclude<ConnectReply, { kind: "incomplete" }>;

async function readReply(socket: Socket, { target, url, attempt }: { target: HostPort; url: ProxyUrl; attempt: Attempt }): Promise<Final> {
  let held: Buffer = Buffer.alloc(0);
  for (;;) {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const reply = decodeConnectReply(held);
      if (reply.kind === "incomplete") continue;
      if (reply.kind === "complete" && held.length > reply.length) socket.unshift(held.subarray(reply.length));
      return reply;
    }
    try {
      await attempt.next(socket, "readable");
    } catch (thrown) {
      const got = held.length === 0 ? "without an answer" : "in the middle of its answer";
      throw connectionError(thrown, {
        message: `the proxy ${formatHostPort(url)} (${url.variable}) ended the connection ${got} when asked for a tunnel to ${formatHostPort(target)}`,
        hint: "check the proxy's log, and that it is an HTTP proxy that allows CONNECT to this port",
      });
    }
  }
}

function malformedError(reply: Extract<Final, { kind: "malformed" }>, target: HostPort, url: ProxyUrl): PlatformError {
  const wanted = `when asked for a tunnel to ${formatHostPort(target)}`;
  const hint = reply.looksLikeTls
    ? `it seems to speak TLS: write https:// in ${url.variable}`
    : `check that ${url.variable} names an HTTP proxy that allows CONNECT`;
  return new PlatformError("unavailable", `the proxy ${formatHostPort(url)} gave ${reply.why} ${wanted}`, { hint });
}

function refusedError(reply: Extract<Final, { kind: "complete" }>, target: HostPort, url: ProxyUrl): PlatformError {
  const proxy = formatHostPort(url);
  const status = `${reply.status} ${withoutCredentials(reply.reason, url)}`.trim();
  const message = `the proxy ${proxy} refused a tunnel to ${formatHostPort(target)}: ${status}`;
  // tinyproxy sends 401 instead of 407.
  if (reply.status === 401 || reply.status === 407) {
    const hint =
      url.credentials === undefined
        ? `it asks for credentials: set ${url.variable}=${url.scheme}://user:password@${proxy}, special characters percent-encoded`
        : `the user or the password in ${url.variable} is wrong; special characters must be percent-encoded`;
    const missing = url.credentials === undefined ? "credentials are missing" : "the credentials are wrong";
    return new PlatformError("unauthenticated", `${message} (${missing})`, { hint });
  }
  const hint =
    reply.status === 403 || reply.status === 405
      ? `ask the proxy's administrator to allow CONNECT to port ${target.port}, or exclude the target with NO_PROXY`
      : "check that the proxy can reach the target; see its log for details";
  return new PlatformError("unavailable", message, { hint });
}

/** A proxy may repeat the request in its answer. */
function withoutCredentials(reason: string, { credentials }: ProxyUrl): string {
  if (credentials === undefined) return reason;
  const token = Buffer.from(`${credentials.user}:${credentials.password}`, "utf8").toString("base64");
  const secrets = [token, credentials.password, encodeURIComponent(credentials.password)].filter((secret) => secret !== "");
  return secrets.some((secret) => reason.includes(secret)) ? "" : reason;
}

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

/** Maximum header of a proxy's answer, with any interim (1xx) answers before it, bytes. */
export const maxReplyHeader = 16_384;

/** Meaning of the bytes received so far. */
type ConnectReply =
  | { readonly kind: "incomplete" }
  | { readonly kind: "malformed"; readonly why: string; readonly looksLikeTls?: boolean }
  /** `length`: bytes of the header; the rest belongs to the tunnel. `reason` is printable ASCII, at most 100 characters. */
  | { readonly kind: "complete"; readonly status: number; readonly reason: string; readonly length: number };

/**
 * Reads a proxy's answer to CONNECT: status line, header fields, empty line (lines may end in LF alone, as RFC 9112 section
 * 2.2 permits). Interim answers are skipped. A peer that does not speak HTTP is detected by its first bytes. Never throws.
 */
export function decodeConnectReply(received: Buffer): ConnectReply {
  const bytes = received.subarray(0, maxReplyHeader);
  for (let start = 0; ; ) {
    const foreign = foreignStart(bytes.subarray(start));
    if (foreign !== undefined) return foreign;
    const end = headerEnd(bytes, start);
    if (end === undefined && received.length < maxReplyHeader) return { kind: "incomplete" };
    if (end === undefined) return { kind: "malformed", why: `an answer whose header has no end within ${maxReplyHeader} bytes` };
    const line = bytes.toString("latin1", start, bytes.indexOf(lineFeed, start)).replace(/\r$/, "");
    const parts = /^HTTP\/1\.[01] ([1-5]\d\d)(?: (.*))?$/s.exec(line);
    if (parts === null) return { kind: "malformed", why: `an answer that begins with ${JSON.stringify(printable(line))}` };
    const status = Number(parts[1]);
    if (status >= 200 || status === 101) return { kind: "complete", status, reason: printable(parts[2] ?? ""), length: end };
    start = end;
  }
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const prefix = Buffer.from("HTTP/1.", "latin1");

function foreignStart(bytes: Buffer): ConnectReply | undefined {
  const length = Math.min(bytes.length, prefix.length);
  if (bytes.compare(prefix, 0, length, 0, length) === 0) return undefined;
  // TLS records: 21 is an alert, 22 a handshake, each followed by major version 3.
  const looksLikeTls = (bytes[0] === 21 || bytes[0] === 22) && (bytes.length === 1 || bytes[1] === 3);
  return { kind: "malformed", why: "something that is not HTTP", looksLikeTls };
}

/** Position after the first empty line. */
function headerEnd(bytes: Buffer, start: number): number | undefined {
  for (let at = bytes.indexOf(lineFeed, start); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) {
    if (bytes[at + 1] === lineFeed) return at + 2;
    if (bytes[at + 1] === carriageReturn && bytes[at + 2] === lineFeed) return at + 3;
  }
  return undefined;
}

/** A peer's text, made safe for a terminal and a log. */
function printable(text: string): string {
  return text
    .slice(0, 100)
    .replace(/[^\x20-\x7e]/g, "?")
    .trim();
}
