import type { ProxyListeners } from "./open-listeners.ts";
import type { ProxyServices } from "./proxy-services.ts";
import { wait } from "./routing/wait.ts";
import type { WebApp } from "./web-api/web-app.ts";

/* The three ways in which a proxy ends: in order (drain), for a process that takes over (retire), at once (close). */

/** Time to send the drain notice and the last audit events, ms. */
const farewellMs = 500;

/** A running proxy. */
export interface RunningParts {
  readonly services: ProxyServices;
  readonly listeners: ProxyListeners;
  readonly web: WebApp;
  readonly stop: AbortController;
  readonly follow: Promise<unknown>;
}

export async function drain({ services, listeners }: RunningParts, graceMs: number): Promise<void> {
  const { registry, relaying, signal, audit } = services;
  await listeners.close();
  audit.sumUp(true);
  for (const tunnel of registry.all()) tunnel.send({ type: "drain" });
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(Math.max(graceMs, farewellMs))]);
  await Promise.race([Promise.all([relaying.closed(), audit.flushed(), wait(farewellMs / 5, signal)]), wait(graceMs + farewellMs, deadline)]);
}

/** Interval at which a replaced process checks whether it may end, ms. */
const retiredLookMs = 200;
/** Minimum time before its end, ms: requests may be in flight on accepted connections. */
const retiredMinMs = 2_000;
/** Time after which idle web connections are closed, ms: their clients then connect to the new process. */
const webIdleMs = 5_000;

/**
 * Accepted connections are served; agents open their next tunnel to the process that took over,
 * and keep the one to this process for a while, so that a client in the middle of its handshake is still served.
 */
export async function retire({ services, listeners, web }: RunningParts, signal: AbortSignal): Promise<void> {
  const { registry, relaying, halfOpen, audit, life, clock } = services;
  const since = clock();
  life.retired = true;
  await listeners.close();
  const told = new WeakSet<object>();
  const isBusy = (): boolean => relaying.size > 0 || halfOpen.size > 0 || web.requests > 0;
  do {
    for (const tunnel of registry.all()) {
      if (!told.has(tunnel)) tunnel.send({ type: "drain" });
      told.add(tunnel);
    }
    if (clock() - since >= webIdleMs) web.closeIdle();
    await wait(retiredLookMs, signal);
  } while ((isBusy() || clock() - since < retiredMinMs) && !signal.aborted);
  audit.sumUp(true);
  await Promise.race([audit.flushed(), wait(farewellMs, signal)]);
}

export async function close({ services, listeners, web, stop, follow }: RunningParts): Promise<void> {
  await listeners.close();
  for (const tunnel of [...services.registry.all()]) tunnel.end();
  stop.abort();
  await web.close();
  listeners.destroyAll();
  await follow;
}
