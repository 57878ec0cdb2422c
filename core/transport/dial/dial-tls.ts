import type { TLSSocket } from "node:tls";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { Attempt, ignoreError } from "./attempt.ts";
import { chooseProxy } from "./choose-proxy.ts";
import type { DialOptions } from "./dial.ts";
import { dialRoute } from "./dial-route.ts";
import { startTls, type TlsOptions } from "./start-tls.ts";

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
