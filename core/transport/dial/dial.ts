import type { Socket } from "node:net";
import type { HostPort } from "../host-port.ts";
import { Attempt, ignoreError } from "./attempt.ts";
import { chooseProxy, type Env } from "./choose-proxy.ts";
import { dialRoute } from "./dial-route.ts";

export interface DialOptions {
  readonly env: Env;
  /** Total timeout for name, connection and proxy, ms. Default 10,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** PEM authorities for an https proxy; omitted for those that this machine trusts. */
  readonly proxyCa?: readonly string[];
}

/**
 * The only outgoing path: connects to the target, directly or through the HTTP proxy from the environment.
 * The socket is paused, without Nagle's delay and without listeners; bytes that the target has already sent are readable in it.
 * Throws `invalid` (a proxy variable), `unavailable`, `timeout`, `unauthenticated` (the proxy's certificate, or our credentials).
 */
export async function dial(target: HostPort, options: DialOptions): Promise<Socket> {
  const route = chooseProxy(target, options.env);
  using attempt = new Attempt(options);
  const socket = await dialRoute(target, route, { attempt, proxyCa: options.proxyCa });
  return socket.off("error", ignoreError);
}
