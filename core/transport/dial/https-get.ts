import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { PlatformError } from "../../errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { Attempt } from "./attempt.ts";
import { chooseProxy } from "./choose-proxy.ts";
import { connectionError, issuerOf } from "./connection-error.ts";
import { type DialOptions, dialRoute, dialTlsWithin } from "./dial.ts";
import { getOver, type HttpAnswer } from "./get-over.ts";

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

export interface HttpsAnswer extends HttpAnswer {
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
  const host = formatHostPort(target);
  attempt.waitingFor = `the answer of ${host} to GET ${path}`;
  const { signal } = attempt;
  const shown = socket instanceof TLSSocket ? { issuer: issuerOf(socket), isTrusted: socket.authorized } : {};
  try {
    return { ...(await getOver(socket, { host, path, maxBytes: options.maxBytes ?? 1_048_576, signal })), ...shown };
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    throw connectionError(thrown, { message: `no answer from ${host} to GET ${path}`, hint: "check the address and its port" });
  }
}

async function connect(target: HostPort, options: HttpsGetOptions, attempt: Attempt): Promise<Socket> {
  const { ca, insecure, plain, env, proxyCa } = options;
  if (plain === true) return await dialRoute(target, chooseProxy(target, env), { attempt, proxyCa });
  return await dialTlsWithin(target, { alpn: ["http/1.1"], servername: target.host, ca, insecure }, { ...options, attempt });
}
