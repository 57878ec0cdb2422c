import { connect, type Socket } from "node:net";
import { PlatformError } from "../../errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { type Attempt, ignoreError } from "./attempt.ts";
import type { Route } from "./choose-proxy.ts";
import { connectionError, type Purpose } from "./connection-error.ts";
import { requestTunnel } from "./request-tunnel.ts";
import { startTls } from "./start-tls.ts";

export interface RouteOptions {
  readonly attempt: Attempt;
  /** PEM authorities for an https proxy; omitted for those that this machine trusts. */
  readonly proxyCa?: readonly string[] | undefined;
}

/** Connects by an already chosen route. The socket has `ignoreError` as its only listener. Throws what `dial` throws. */
export async function dialRoute(target: HostPort, route: Route, options: RouteOptions): Promise<Socket> {
  const { attempt, proxyCa } = options;
  const wanted = formatHostPort(target);
  if (route.kind === "direct") {
    const { instead } = route;
    attempt.instead = instead;
    const hint = `check the address and that the service runs${instead === undefined ? "" : `; ${instead}`}`;
    return await connectTcp(target, attempt, { message: `no connection to ${wanted}`, hint });
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

async function connectTcp({ host, port }: HostPort, attempt: Attempt, purpose: Purpose): Promise<Socket> {
  attempt.waitingFor = `a connection to ${formatHostPort({ host, port })}`;
  const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000, autoSelectFamily: true });
  socket.on("error", ignoreError);
  try {
    await attempt.next(socket, "connect");
    return socket;
  } catch (thrown) {
    socket.destroy();
    throw connectionError(thrown, purpose);
  }
}
