import type { Socket } from "node:net";
import type { HostPort } from "../host-port.ts";
import { Attempt, ignoreError } from "./attempt.ts";
import { chooseProxy, type Env } from "./choose-proxy.ts";
import { dialRoute } from "./dial-route.ts";

export interface DialOptions {
  readonly env: Env;
  /** For everything together: name, connection, proxy. Default 10,000 ms. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** PEM authorities for an https proxy; left out: what this machine trusts. */
  readonly proxyCa?: readonly string[];
}

/**
 * The one way out: connects to the target, directly or through the HTTP proxy that the environment names.
 * The socket is paused, without Nagle's delay and without listeners; whatever the target sent already is readable in it.
 * Throws `invalid` (a proxy variable), `unavailable`, `timeout`, `unauthenticated` (the proxy's certificate, or our credentials).
 */
export async function dial(target: HostPort, options: DialOptions): Promise<Socket> {
  const route = chooseProxy(target, options.env);
  using attempt = new Attempt(options);
  const socket = await dialRoute(target, route, { attempt, proxyCa: options.proxyCa });
  return socket.off("error", ignoreError);
}
