import type { Socket } from "node:net";
import { PlatformError } from "../../errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import type { Attempt } from "./attempt.ts";
import { type ConnectReply, decodeConnectReply } from "./connect-reply.ts";
import { encodeConnectRequest } from "./connect-request.ts";
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
