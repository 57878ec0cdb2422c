import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type ArrivedSocket, peerAddress, setPeer } from "../../../../core/transport/arrivals/listen.ts";
import { forwardedClient } from "../../../../core/transport/forwarded-client.ts";
import { formatHostPort, ipOf } from "../../../../core/transport/host-port.ts";
import { IpSet } from "../../../../core/transport/ip-prefix.ts";

/** The clients of requests that come through balancers which end TLS. */
export class ForwardedPeers {
  readonly #trusted: IpSet | undefined;
  /** The other ends of connections from balancers, `ip:port`. */
  readonly #balancers = new WeakMap<Duplex, string>();

  /** `trusted`: addresses and prefixes of balancers; undefined: none, and nothing is read. */
  constructor(trusted: readonly string[] | undefined) {
    this.#trusted = trusted && new IpSet(trusted);
  }

  /** `ip:port` of the request's client, whose connection came from `peer`; the port of another machine's connection is 0. */
  of({ headers }: Pick<IncomingMessage, "headers">, peer: string): string {
    const client = this.#trusted && forwardedClient(joined(headers["x-forwarded-for"]), ipOf(peer), this.#trusted);
    return client === undefined ? peer : formatHostPort({ host: client, port: 0 });
  }

  /**
   * Gives the request's connection its client's address, for all who look at it while this request is served: balancers use a connection for one request after
   * the other.
   */
  name(request: IncomingMessage): void {
    if (this.#trusted === undefined) return;
    const socket: ArrivedSocket = request.socket;
    const own = this.#balancers.get(socket) ?? peerAddress(socket);
    if (!this.#trusted.has(ipOf(own))) return;
    this.#balancers.set(socket, own);
    const client = this.of(request, own);
    setPeer(socket, { remoteAddress: ipOf(client), remotePort: Number(client.slice(client.lastIndexOf(":") + 1)) });
  }
}

function joined(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" || header === undefined ? header : header.join(",");
}
