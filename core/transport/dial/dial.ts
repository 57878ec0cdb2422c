import { connect, type LookupFunction, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { PlatformError } from "../../errors/platform-error.ts";
import { gatherPieces } from "../../node-internals/gather-pieces.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { keepAlive } from "../keep-alive.ts";
import { Attempt, ignoreError } from "./attempt.ts";
import { chooseProxy, type Env, type Route } from "./choose-proxy.ts";
import { connectionError, type Purpose } from "./connection-error.ts";
import { requestTunnel } from "./request-tunnel.ts";
import { startTls, type TlsOptions } from "./start-tls.ts";

export interface DialOptions {
  readonly env: Env;
  /** Total timeout for name, connection and proxy, ms. Default 10,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** PEM authorities for an https proxy; omitted for those that this machine trusts. */
  readonly proxyCa?: readonly string[];
  /** Resolves the target's name on a direct way; its PlatformError passes unchanged. Default: as the machine does. */
  readonly lookup?: LookupFunction;
}

/**
 * The only outgoing path: connects to the target, directly or through the HTTP proxy from the environment.
 * The socket is paused, without Nagle's delay and without listeners; bytes that the target has already sent are readable in it.
 * Throws `invalid` (a proxy variable), `unavailable`, `timeout`, `unauthenticated` (the proxy's certificate, or our credentials).
 */
export async function dial(target: HostPort, options: DialOptions): Promise<Socket> {
  const route = chooseProxy(target, options.env);
  using attempt = new Attempt(options);
  const socket = await dialRoute(target, route, { attempt, proxyCa: options.proxyCa, lookup: options.lookup });
  return socket.off("error", ignoreError);
}

/**
 * Dials and then speaks TLS with the target; one time limit for both. The socket is paused and has no listeners.
 * Throws what `dial` throws, and `unauthenticated` when the target's certificate is refused.
 */
export async function dialTls(target: HostPort, tls: TlsOptions, options: DialOptions): Promise<TLSSocket> {
  using attempt = new Attempt(options);
  const socket = await dialTlsWithin(target, tls, { ...options, attempt });
  return socket.off("error", ignoreError);
}

/** The same within a longer attempt; `ignoreError` stays as the only listener. */
export async function dialTlsWithin(target: HostPort, tls: TlsOptions, options: DialOptions & { attempt: Attempt }): Promise<TLSSocket> {
  const { attempt, proxyCa, env } = options;
  const socket = await dialRoute(target, chooseProxy(target, env), { attempt, proxyCa });
  return await startTls(socket, tls, { attempt, peer: formatHostPort(target), hint: "check the address and its port" });
}

interface RouteOptions {
  readonly attempt: Attempt;
  /** PEM authorities for an https proxy; omitted for those that this machine trusts. */
  readonly proxyCa?: readonly string[] | undefined;
  /** Of the target's name, on a direct way. */
  readonly lookup?: LookupFunction | undefined;
}

/** Connects by an already chosen route. The socket has `ignoreError` as its only listener. Throws what `dial` throws. */
export async function dialRoute(target: HostPort, route: Route, options: RouteOptions): Promise<Socket> {
  const { attempt, proxyCa } = options;
  const wanted = formatHostPort(target);
  if (route.kind === "direct") {
    const { instead } = route;
    attempt.instead = instead;
    const hint = `check the address and that the service runs${instead === undefined ? "" : `; ${instead}`}`;
    return await connectTcp(target, attempt, { message: `no connection to ${wanted}`, hint, lookup: options.lookup });
  }
  const { url } = route;
  const proxy = `the proxy ${formatHostPort(url)}`;
  const hint = `check ${url.variable}, and that the proxy runs`;
  const tcp = await connectTcp(url, attempt, { message: `no connection to ${proxy} (${url.variable}) on the way to ${wanted}`, hint });
  const socket = url.scheme === "http" ? tcp : await startProxyTls(tcp);
  try {
    await requestTunnel(socket, { target, url, attempt });
    return socket;
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }

  async function startProxyTls(over: Socket): Promise<Socket> {
    const peer = `${proxy} (${url.variable}, on the way to ${wanted})`;
    const tls = { alpn: ["http/1.1"], servername: url.host, ca: proxyCa };
    try {
      return await startTls(over, tls, { attempt, peer, hint: `if the proxy does not speak TLS, write http:// in ${url.variable}` });
    } catch (thrown) {
      throw thrown instanceof PlatformError && thrown.code === "unauthenticated" ? untrustedProxy(thrown) : thrown;
    }
  }
}

/** Without the cause: its code would be mistaken for a verdict on the target's certificate. */
function untrustedProxy({ code, message }: PlatformError): PlatformError {
  const hint = "add the authority of the proxy's certificate to those that this machine trusts (update-ca-certificates, update-ca-trust)";
  return new PlatformError(code, message, { hint });
}

type TcpPurpose = Purpose & { readonly lookup?: LookupFunction | undefined };

async function connectTcp({ host, port }: HostPort, attempt: Attempt, purpose: TcpPurpose): Promise<Socket> {
  attempt.waitingFor = `a connection to ${formatHostPort({ host, port })}`;
  const socket = connect({
    host,
    port,
    noDelay: true,
    autoSelectFamily: true,
    ...(purpose.lookup && { lookup: purpose.lookup }),
  });
  socket.on("error", ignoreError);
  try {
    await attempt.next(socket, "connect");
    return gatherPieces(keepAlive(socket));
  } catch (thrown) {
    socket.destroy();
    throw connectionError(thrown, purpose);
  }
}
