import type { Duplex } from "node:stream";
import type { Connection } from "ssh2";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { OfferLimits } from "../../../core/resources/token.ts";
import { keepHalfOpen } from "../../../core/ssh/ssh2/hooks.ts";
import type { AgentMessage, ProxyMessage } from "../../../core/transport/tunnel-message.ts";
import { encodeTunnelMessage, tunnelChannels } from "../../../core/transport/tunnel-message.ts";

/** An agent's facts from its hello. */
export type AgentFacts = Omit<Extract<AgentMessage, { type: "hello" }>, "type">;

export interface TunnelParts {
  readonly identity: HostIdentity;
  readonly facts: AgentFacts;
  /** `ip:port` of the agent. */
  readonly peer: string;
  readonly connection: Connection;
  readonly channel: Duplex;
  /** The transport, for its count of bytes received. */
  readonly transport: Duplex & { readonly bytesRead?: number };
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

export const maxStreamsPerTunnel = 1000;
/** Time for the agent to open a stream's channel, ms. */
export const openMs = 10_000;
/** Maximum of unread messages to an agent, bytes; an agent that does not read them is disconnected. */
const maxUnread = 262_144;

/** Time for a peer to receive the last messages, ms. */
const lingerMs = 2000;

export function endConnection(connection: Connection, transport: Duplex): void {
  connection.end();
  const timer = setTimeout(() => transport.destroy(), lingerMs);
  transport.once("close", () => clearTimeout(timer));
}

/** One agent's connection: authenticated, after hello, and open for streams. It has no timer: the registry sweeps. */
export class Tunnel {
  readonly #parts: TunnelParts;
  #bytesSeen = 0;
  #heardAt: number;
  streams = 0;
  /** The agent accepts no more streams. */
  draining = false;
  ended = false;
  /** Another host is recorded under a name of this one, by the auth service's last answer. */
  sharesName = false;
  /** The agent's current status. */
  facts: AgentFacts;
  /** Services that it wants to offer but may not: its join token does not allow them. */
  refusedServices: readonly string[] = [];
  /** Names of the resources that its join token allows it to offer. */
  offerLimits: OfferLimits = {};
  /** Resources that it currently offers. */
  offered: readonly Offered[] = [];

  constructor(parts: TunnelParts) {
    this.#parts = parts;
    this.facts = parts.facts;
    this.#heardAt = parts.clock();
  }

  get identity(): HostIdentity {
    return this.#parts.identity;
  }

  get peer(): string {
    return this.#parts.peer;
  }

  /** Ms since the agent sent anything at all: bytes of a stream count, so that a busy connection is not mistaken for a dead one. */
  silentFor(now: number): number {
    const bytes = this.#parts.transport.bytesRead ?? 0;
    if (bytes !== this.#bytesSeen) {
      this.#bytesSeen = bytes;
      this.#heardAt = now;
    }
    return now - this.#heardAt;
  }

  heard(): void {
    this.#heardAt = this.#parts.clock();
  }

  send(message: ProxyMessage): void {
    const { channel } = this.#parts;
    if (this.ended || !channel.writable) return;
    if (channel.writableLength > maxUnread) this.end();
    else channel.write(encodeTunnelMessage(message));
  }

  /** A new channel to the agent. Throws `limit`, `unavailable` or `timeout`. */
  openStream(timeoutMs: number): Promise<Duplex> {
    const { hostname } = this.facts;
    if (this.streams >= maxStreamsPerTunnel) {
      return Promise.reject(new PlatformError("limit", `too many streams: ${hostname} has ${maxStreamsPerTunnel} open, the maximum`));
    }
    if (this.ended) return Promise.reject(new PlatformError("unavailable", `the tunnel of ${hostname} has just ended`));
    this.streams += 1;
    return new Promise((resolve, reject) => {
      let given = true;
      const giveUp = (error: PlatformError): void => {
        if (!given) return;
        given = false;
        this.streams -= 1;
        reject(error);
      };
      const timer = setTimeout(() => giveUp(new PlatformError("timeout", `${hostname} did not open a stream in time`)), timeoutMs);
      const name = tunnelChannels.stream;
      this.#parts.connection.forwardOut(name, 1, name, 1, (cause, channel) => {
        clearTimeout(timer);
        if (cause !== undefined && cause !== null) {
          giveUp(new PlatformError("unavailable", `${hostname} refused a stream`, { cause, hint: "the agent may be stopping: try again shortly" }));
          return;
        }
        channel.on("error", () => {});
        // A client that has sent everything still reads its answer: with TLS on top, only that knows when both directions are over.
        keepHalfOpen(channel);
        if (!given) {
          channel.destroy();
          return;
        }
        channel.once("close", () => {
          this.streams -= 1;
        });
        resolve(channel);
      });
    });
  }

  /** Sends a disconnect message and closes; a peer that does not answer is cut off soon after. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    endConnection(this.#parts.connection, this.#parts.transport);
  }
}
