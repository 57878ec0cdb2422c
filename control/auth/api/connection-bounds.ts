import type { ServerHttp2Session } from "node:http2";
import type { Duplex } from "node:stream";
import { HalfOpen } from "../../../core/transport/arrivals/half-open.ts";
import { clientNetwork } from "../../limits/request-limit.ts";
import { type Caller, callerName } from "./caller.ts";

/* Limits of the API's connections: how many there are, and how long a silent one lives. */

/** Connections in their TLS handshake: each costs some 75 KB. Those of this machine are counted separately. */
const maxArriving = 1_024;
/** Connections without a certificate: logins and joins, a thousand hosts at a time from behind one address. */
const maxAnonymous = 1_024;
/**
 * Connections with a certificate in total, and per certificate holder: an agent has two or three. Each stream that a proxy relays counts as the
 * proxy's.
 */
const maxCertified = 60_000;
const maxOfNode = 64;
const maxOfUser = 1_000;

/**
 * Limits the API's connections. Unknown clients have their own limit: beyond it, the oldest of the address with the most is dropped, so that
 * a client that opens many affects only its own address, and no holder of a certificate.
 */
export class ConnectionBounds {
  readonly #arriving = new HalfOpen(maxArriving);
  readonly #arrivingHere = new HalfOpen(maxArriving);
  readonly #anonymous = new HalfOpen(maxAnonymous);
  readonly #certified = new Map<string, number>();
  #total = 0;

  /** May be dropped as excess until it is settled. */
  arrive(stream: Duplex, address: string): void {
    const network = clientNetwork(address);
    (isLoopback(network) ? this.#arrivingHere : this.#arriving).enter(stream, network);
  }

  /** The handshake is over. False: its owner has too many connections. */
  settle(stream: Duplex, peer: Caller | Error, address: string): boolean {
    this.#arriving.leave(stream);
    this.#arrivingHere.leave(stream);
    if (peer instanceof Error || peer.kind === "anonymous") {
      this.#anonymous.enter(stream, clientNetwork(address));
      return !stream.destroyed;
    }
    return this.#certify(stream, peer);
  }

  #certify(stream: Duplex, peer: Exclude<Caller, { kind: "anonymous" }>): boolean {
    const owner = `${peer.kind}:${callerName(peer)}`;
    const count = this.#certified.get(owner) ?? 0;
    const most = peer.kind === "user" ? maxOfUser : peer.identity.role === "node" ? maxOfNode : maxCertified;
    if (count >= most || this.#total >= maxCertified) return false;
    this.#certified.set(owner, count + 1);
    this.#total += 1;
    stream.once("close", () => {
      this.#total -= 1;
      const left = (this.#certified.get(owner) ?? 1) - 1;
      if (left > 0) this.#certified.set(owner, left);
      else this.#certified.delete(owner);
    });
    return true;
  }
}

/** Network of the client, by `clientNetwork`. */
function isLoopback(network: string): boolean {
  return network.startsWith("127.") || network === "0:0:0:0";
}

/** Silence after which a connection is checked, and the time for a PING's answer, ms. */
const idleMs = 60_000;
const pingMs = 15_000;

export interface KeptSession {
  /** Resolves once a call has begun, or the connection has ended. */
  used(): Promise<void>;
  /** Resolves once no call is open. */
  quiet(): Promise<void>;
}

/**
 * Ends idle connections and those whose peer is gone. A watch may be silent for a long time: its peer answers pings.
 * `cut` ends the connection below: a destroyed session waits for its last write, which a lost peer never accepts.
 */
export function keepSession(session: ServerHttp2Session, cut: () => void): KeptSession {
  let streams = 0;
  const first = Promise.withResolvers<void>();
  const waiting: (() => void)[] = [];
  const giveUp = (): void => {
    session.destroy();
    cut();
  };
  const tell = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  session.on("error", () => {});
  session.on("stream", (stream) => {
    streams += 1;
    first.resolve();
    stream.once("close", () => {
      streams -= 1;
      if (streams === 0) tell();
    });
  });
  session.once("close", tell).once("close", first.resolve);
  session.setTimeout(idleMs, () => {
    if (streams === 0) {
      session.close();
      return;
    }
    const timer = setTimeout(giveUp, pingMs);
    const sent = session.ping((error) => {
      clearTimeout(timer);
      if (error !== null) giveUp();
    });
    if (!sent) {
      clearTimeout(timer);
      giveUp();
    }
  });
  return {
    used: () => first.promise,
    quiet: () =>
      new Promise((resolve) => {
        if (streams === 0 || session.destroyed) resolve();
        else waiting.push(resolve);
      }),
  };
}
