import type { Duplex } from "node:stream";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { HostStatus } from "../../core/resources/host-status.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import { type Offered, offeredPages } from "../../core/resources/offered.ts";
import { readMessages } from "../../core/transport/read-frame.ts";
import {
  deadMs,
  decodeProxyMessage,
  encodeTunnelMessage,
  heartbeatMs,
  maxTunnelMessage,
  type ProxyMessage,
  tunnelChannels,
} from "../../core/transport/tunnel-message.ts";
import { type OpenedTunnel, openChannel } from "./open-tunnel.ts";

/** Both clocks, ms. */
export interface Clock {
  readonly wall: () => number;
  /** Monotonic. */
  readonly steady: () => number;
}

export interface TunnelEvents {
  /** The proxy is stopping. */
  readonly onDrain: () => void;
  /** Another revision of roles and authorities, each time it is reported. */
  readonly onAccess: (revision: string) => void;
  /** Revision of the cluster's maintenance configuration, each time it is reported. */
  readonly onMaintenance: (revision: string) => void;
  /** Digest of the authorities' keys, each time it is reported. */
  readonly onAuthorities: (digest: string) => void;
  /** Revision of the list of proxies, each time it is reported. */
  readonly onProxies: (revision: string) => void;
  /** Revision of the resources that agents offer, each time it is reported. */
  readonly onResources: (revision: string) => void;
  readonly onEnd: () => void;
  /** The proxy has read that this tunnel drains: all streams opened before have arrived. */
  readonly onDraining?: () => void;
}

/** Stands for a time in the ping that follows `draining`: no clock can have it. */
const drainingPing = 0.5;

/** One tunnel that is up: heartbeats, the proxy's messages, its end. */
export class Tunnel {
  readonly openedAt: number;
  readonly #opened: OpenedTunnel;
  readonly #log: Log;
  readonly #events: TunnelEvents;
  readonly #timer: NodeJS.Timeout;
  #ended = false;
  /** The resources that the proxy knows, JSON; empty: none were reported, and it may know those of a tunnel before. */
  #offered = "";
  /** The proxy, of a version before, was found to take no resources. */
  #isTooOld = false;
  /** The host status that the proxy knows, JSON. */
  #reported: string;

  constructor(opened: OpenedTunnel, deps: { log: Log; clock: Clock; events: TunnelEvents }) {
    const { clock, log, events } = deps;
    this.#opened = opened;
    this.#log = log;
    this.#events = events;
    this.openedAt = clock.steady();
    this.#reported = JSON.stringify([opened.status, opened.labels]);
    this.#timer = this.#watch(clock);
    opened.connection.once("close", () => this.end("the connection closed"));
    opened.transport.once("close", () => this.end("the connection closed"));
    for (const end of ["end", "close"]) opened.control.once(end, () => this.end("the proxy closed the tunnel"));
    readMessages(opened.control, {
      maxLength: maxTunnelMessage,
      what: "tunnel message",
      decode: decodeProxyMessage,
      onMessage: (message) => this.#receive(message),
      onError: (error) => this.end(errorText(error)),
    });
    this.#hear(opened.welcome);
    events.onAccess(opened.welcome.accessRevision);
    // The first heartbeat: its answer has what may have changed while there was no tunnel, such as the maintenance windows.
    this.#send({ type: "ping", time: clock.wall() });
    if (opened.transport.destroyed) this.end("the connection closed");
  }

  /** A byte stream to the auth service's TLS listener. */
  openAuth(): Promise<Duplex> {
    return openChannel(this.#opened.connection, tunnelChannels.auth);
  }

  /** Asks the proxy to open no more streams here. The answer to the following ping shows that the proxy has read it. */
  announceDraining(): void {
    this.#send({ type: "draining" });
    this.#send({ type: "ping", time: drainingPing });
  }

  /** Sends the host's status to the proxy, unless the proxy knows it. */
  tell(status: HostStatus, labels: Labels): void {
    const text = JSON.stringify([status, labels]);
    if (text === this.#reported) return;
    this.#reported = text;
    this.#send({ type: "status", status, labels });
  }

  /** Reports the resources that the services offer, unless the proxy knows them. */
  offer(offered: readonly Offered[]): void {
    const text = JSON.stringify(offered);
    if (text === this.#offered) return;
    if (this.#opened.welcome.takesResources !== true) {
      if (offered.length === 0 || this.#isTooOld) return;
      // Once for each tunnel, however often the resources change.
      this.#isTooOld = true;
      const kinds = [...new Set(offered.map(({ kind }) => kind))].join(", ");
      this.#log.warn("the proxy is too old for what this host offers: it is not reachable through it", { count: offered.length, kinds });
      return;
    }
    this.#offered = text;
    const pages = offeredPages(offered);
    for (const [index, resources] of pages.entries()) this.#send({ type: "resources", resources: [...resources], more: index < pages.length - 1 });
  }

  end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#log.info("tunnel ended", { reason });
    this.#opened.connection.end();
    // Pending writes get a moment; a dead peer accepts nothing any more.
    setTimeout(() => this.#opened.transport.destroy(), 1_000).unref();
    this.#events.onEnd();
  }

  #receive(message: ProxyMessage): void {
    switch (message.type) {
      case "pong":
        if (message.maintenanceRevision !== undefined) this.#events.onMaintenance(message.maintenanceRevision);
        this.#hear(message);
        this.#events.onAccess(message.accessRevision);
        if (message.time === drainingPing) this.#events.onDraining?.();
        return;
      case "access":
        this.#hear(message);
        this.#events.onAccess(message.accessRevision);
        if (message.notice !== undefined) this.#log.warn(`the proxy says: ${message.notice}`);
        return;
      case "drain":
        this.#events.onDrain();
        return;
      case "refused":
        this.end(`the proxy refused the tunnel: ${message.message}`);
        return;
      case "welcome":
        this.end("the proxy violated the protocol");
    }
  }

  /** A proxy of the previous version does not send them. */
  #hear({ authorities, proxies, resources }: Pick<ProxyMessage & { type: "access" }, "authorities" | "proxies" | "resources">): void {
    if (authorities !== undefined) this.#events.onAuthorities(authorities);
    if (proxies !== undefined) this.#events.onProxies(proxies);
    if (resources !== undefined) this.#events.onResources(resources);
  }

  #send(message: Parameters<typeof encodeTunnelMessage>[0]): void {
    if (this.#ended || !this.#opened.control.writable) return;
    this.#opened.control.write(encodeTunnelMessage(message));
  }

  /** Any byte from the proxy shows that it lives: a busy tunnel may delay its answer. */
  #watch(clock: Clock): NodeJS.Timeout {
    const { transport } = this.#opened;
    let state = firstHeartbeat({ wall: clock.wall(), steady: clock.steady() });
    let bytes = transport.bytesRead;
    return setInterval(() => {
      const now = { wall: clock.wall(), steady: clock.steady() };
      const heard = transport.bytesRead === bytes ? state.heard : now.steady;
      bytes = transport.bytesRead;
      const next = heartbeat(state, { ...now, heard });
      state = next.state;
      if (next.act === "ping") this.#send({ type: "ping", time: now.wall });
      if (next.act === "dead") this.end("the proxy stopped responding");
    }, lookMs);
  }
}

/** Interval between checks of a tunnel, ms. */
export const lookMs = 5_000;
/** Time for the peer to answer after a clock jump, ms. */
const probeMs = 10_000;
/** Silence that ends a tunnel, ms: one check less than the limit for a dead peer, so that the end comes within it. */
const silenceMs = deadMs - lookMs;
/** Maximum drift of wall clock against monotonic clock, ms; a larger one means that the machine slept or the clock was set. */
const jumpMs = 5_000;

/** Times in ms: `wall` can jump, `steady` is monotonic and stands still while the machine sleeps. */
export interface HeartbeatState {
  readonly wall: number;
  readonly steady: number;
  /** When the peer was last heard from, and last pinged; steady. */
  readonly heard: number;
  readonly asked: number;
  /** Since when an immediate answer is expected; steady. */
  readonly probing?: number | undefined;
}

export type HeartbeatAct = "nothing" | "ping" | "dead";

/** State of a tunnel that has just come up. */
export function firstHeartbeat(now: { wall: number; steady: number }): HeartbeatState {
  return { ...now, heard: now.steady, asked: now.steady };
}

/** What to do at this check, and the state for the next one. Pure. */
export function heartbeat(
  last: HeartbeatState,
  now: { readonly wall: number; readonly steady: number; readonly heard: number },
): { act: HeartbeatAct; state: HeartbeatState } {
  const jumped = Math.abs(now.wall - last.wall - (now.steady - last.steady)) > jumpMs || now.steady - last.steady > 3 * lookMs;
  const answered = last.probing !== undefined && now.heard > last.probing;
  const probing = jumped ? now.steady : answered ? undefined : last.probing;
  const isLate = probing !== undefined && !jumped && now.steady - probing >= probeMs;
  const isSilent = probing === undefined && now.steady - now.heard >= silenceMs;
  const state = { ...now, asked: last.asked, probing };
  if (isLate || isSilent) return { act: "dead", state };
  if (jumped || now.steady - last.asked >= heartbeatMs) return { act: "ping", state: { ...state, asked: now.steady } };
  return { act: "nothing", state };
}
