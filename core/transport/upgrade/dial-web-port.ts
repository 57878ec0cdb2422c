import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { PlatformError, toPlatformError } from "../../errors/platform-error.ts";
import { Attempt, ignoreError } from "../dial/attempt.ts";
import { chooseProxy } from "../dial/choose-proxy.ts";
import { type DialOptions, dialRoute } from "../dial/dial.ts";
import { startTls, type TlsOptions } from "../dial/start-tls.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { upgradeOver } from "./request-upgrade.ts";
import { maybeEndedBefore, WebPortWays } from "./web-port-ways.ts";

/*
 * The web port of a proxy, also behind balancers and other devices that end TLS in front of it. A direct handshake that fails as theirs do is repeated inside a
 * WebSocket, which they pass on. Where nothing ends TLS this costs nothing. All trust is in the inner handshake: the outer one only leads there.
 */

export interface WebPortOptions extends DialOptions {
  /** PEM authorities of what ends TLS on the way; omitted for those that this machine trusts. */
  readonly balancerCa?: readonly string[];
}

/** Of this process. */
const ways = new WebPortWays(() => performance.now());
/** Streams whose handshake is still to come. */
const dialled = new WeakMap<Duplex, { readonly target: HostPort; readonly isUpgraded: boolean }>();

/**
 * A byte stream to the web port of a proxy; `overWebPort` makes it find the way. Without listeners but for one of errors. Throws what `dial` throws.
 */
export async function dialWebPort(target: HostPort, options: WebPortOptions): Promise<Duplex> {
  using attempt = new Attempt(options);
  return await dialWithin(target, { ...options, attempt });
}

/** Dials the web port and speaks TLS with what is behind it; one time limit for all. Throws what `dialTls` throws. */
export async function dialWebPortTls(target: HostPort, tls: TlsOptions, options: WebPortOptions): Promise<TLSSocket> {
  using attempt = new Attempt(options);
  const open = (): Promise<Duplex> => dialWithin(target, { ...options, attempt });
  const hint = "check the address and its port";
  const secure = await overWebPort(open, (stream) => startTls(stream, tls, { attempt, peer: formatHostPort(target), hint }));
  return secure.off("error", ignoreError);
}

/**
 * Runs a handshake over a stream of `open`. One of `dialWebPort` that shows something else than the proxy is followed by another one, in which the proxy may
 * show itself. The handshake throws PlatformError, and destroys its stream then.
 */
export async function overWebPort<T>(open: () => Promise<Duplex>, handshake: (stream: Duplex) => Promise<T>): Promise<T> {
  for (;;) {
    const stream = await open();
    const way = dialled.get(stream);
    try {
      const result = await handshake(stream);
      if (way !== undefined) ways.remember(way.target, { kind: way.isUpgraded ? "upgrade" : "direct" });
      return result;
    } catch (thrown) {
      if (way?.isUpgraded === true) ways.forget(way.target);
      if (way === undefined || way.isUpgraded) throw thrown;
      const failure = toPlatformError(thrown);
      if (!maybeEndedBefore(failure, ways.find(way.target))) throw thrown;
      ways.remember(way.target, { kind: "upgrade", after: failure });
    }
  }
}

/** Whether a handshake in this process has shown that something ends TLS in front of this web port. */
export function isEndedBefore(target: HostPort): boolean {
  return ways.find(target)?.kind === "upgrade";
}

type Within = WebPortOptions & { readonly attempt: Attempt };

async function dialWithin(target: HostPort, options: Within): Promise<Duplex> {
  const way = ways.find(target);
  if (way?.kind === "upgrade") {
    try {
      return remembered(await upgradeOver(await dialDirectly(target, options), { ...options, target }), { target, isUpgraded: true });
    } catch (thrown) {
      ways.forget(target);
      if (way.after !== undefined) throw alsoTried(way.after, toPlatformError(thrown));
      // It was the way before: the network, or the balancer, has changed.
    }
  }
  return remembered(await dialDirectly(target, options), { target, isUpgraded: false });
}

function remembered(stream: Duplex, way: { readonly target: HostPort; readonly isUpgraded: boolean }): Duplex {
  dialled.set(stream, way);
  return stream;
}

async function dialDirectly(target: HostPort, { env, attempt, proxyCa, lookup }: Within): Promise<Duplex> {
  return await dialRoute(target, chooseProxy(target, env), { attempt, proxyCa, lookup });
}

/** The failure of the direct way, with that of the upgrade in its hint: which of the two is the fault, only its reader can know. */
function alsoTried({ code, message, hint = "check the address", cause }: PlatformError, upgrade: PlatformError): PlatformError {
  return new PlatformError(code, message, { hint: `${hint}; if a load balancer or another device ends TLS there: ${upgrade.message}`, cause });
}
