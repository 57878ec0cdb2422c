import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { PlatformError } from "../../errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { Attempt, ignoreError } from "./attempt.ts";
import { chooseProxy } from "./choose-proxy.ts";
import { connectionError } from "./connection-error.ts";
import type { DialOptions } from "./dial.ts";
import { dialRoute } from "./dial-route.ts";
import { dialTlsWithin } from "./dial-tls.ts";
import { issuerOf } from "./tls-error.ts";

export interface HttpsGetOptions extends DialOptions {
  /** PEM; omitted for the authorities that this machine trusts. */
  readonly ca?: readonly string[];
  /** Accepts any certificate; the answer has whether it is issued by `ca`. */
  readonly insecure?: boolean;
  /** HTTP without TLS: for a server on this machine. */
  readonly plain?: boolean;
  /** Maximum body; default 1 MiB. */
  readonly maxBytes?: number;
}

export interface HttpsAnswer {
  readonly status: number;
  /** Names in lower case; repeated fields joined by `, `. */
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** Issuer of the server's certificate, quoted. */
  readonly issuer?: string | undefined;
  /** False only for an `insecure` call: the certificate is not issued by `ca`. */
  readonly isTrusted?: boolean;
}

/**
 * One GET over a connection of its own; redirects are not followed. One time limit for everything.
 * Throws what `dialTls` throws, `limit` for a body that is too long, `invalid` for an invalid path.
 */
export async function httpsGet(target: HostPort, path: string, options: HttpsGetOptions): Promise<HttpsAnswer> {
  if (!/^\/[\x21-\x7e]*$/.test(path)) throw new PlatformError("invalid", `${JSON.stringify(path)} is not a path`);
  using attempt = new Attempt(options);
  const socket = await connect(target, options, attempt);
  attempt.waitingFor = `the answer of ${formatHostPort(target)} to GET ${path}`;
  const stop = (): void => {
    socket.destroy();
  };
  attempt.signal.addEventListener("abort", stop, { once: true });
  if (attempt.signal.aborted) stop();
  try {
    const shown = socket instanceof TLSSocket ? { issuer: issuerOf(socket), isTrusted: socket.authorized } : {};
    return { ...(await get(socket, { target, path, maxBytes: options.maxBytes ?? 1_048_576 })), ...shown };
  } catch (thrown) {
    if (attempt.signal.aborted) throw attempt.signal.reason;
    throw connectionError(thrown, { message: `no answer from ${formatHostPort(target)} to GET ${path}`, hint: "check the address and its port" });
  } finally {
    attempt.signal.removeEventListener("abort", stop);
    socket.destroy();
  }
}

async function connect(target: HostPort, options: HttpsGetOptions, attempt: Attempt): Promise<Socket> {
  const { ca, insecure, plain, env, proxyCa } = options;
  if (plain === true) return await dialRoute(target, chooseProxy(target, env), { attempt, proxyCa });
  return await dialTlsWithin(target, { alpn: ["http/1.1"], servername: target.host, ca, insecure }, { ...options, attempt });
}

async function get(socket: Socket, options: { target: HostPort; path: string; maxBytes: number }): Promise<HttpsAnswer> {
  const { target, path, maxBytes } = options;
  const headers = { host: formatHostPort(target), accept: "*/*", "user-agent": "platform", connection: "close" };
  const sent = request({ createConnection: () => socket, method: "GET", path, headers });
  const response = await answer(sent);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) {
      throw new PlatformError("limit", `the answer of ${formatHostPort(target)} to GET ${path} is longer than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  if (!response.complete) throw new Error("the connection was closed in the middle of the answer");
  return { status: response.statusCode ?? 0, headers: flat(response), body: Buffer.concat(chunks) };
}

function answer(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Stays: a request may fail again after its answer.
    sent.on("error", ignoreError);
    sent.once("error", reject).once("response", resolve);
    sent.once("close", () => reject(new Error("the connection was closed")));
    sent.end();
  });
}

function flat(response: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]));
}
