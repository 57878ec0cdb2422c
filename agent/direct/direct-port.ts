import type { Socket } from "node:net";
import type { SecureContext, TLSSocket } from "node:tls";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { certifiedIdentity, peerCertificate } from "../../core/identity/x509-identity.ts";
import type { Log } from "../../core/log/log.ts";
import { alpn } from "../../core/transport/alpn.ts";
import { FailedArrivals, HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import { type Listener, listen, peerAddress } from "../../core/transport/arrivals/listen.ts";
import { peek, turnAway } from "../../core/transport/arrivals/peek.ts";
import { hostContext, terminateTls } from "../../core/transport/arrivals/server-tls.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import type { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { encodeStreamReply } from "../../core/transport/stream-request.ts";

export interface DirectPortOptions {
  readonly address: HostPort;
  readonly sockets: ListenSockets;
  readonly log: Log;
  /** The newest ones. */
  readonly credentials: () => HostCredentials;
  /** Serves one stream until it ends. Never throws. */
  readonly serve: (stream: TLSSocket) => Promise<void>;
  /** Called periodically with the number of connections that ended before a proxy had authenticated, and the last error. */
  readonly onStrangers: (facts: { readonly count: number; readonly peer: string; readonly error: string }) => void;
  readonly now?: () => Date;
}

/** Maximum unauthenticated connections; beyond it, the oldest one of the address with the most is dropped. */
const maxHalfOpen = 256;
/** Maximum connections in all: unauthenticated ones, and one per stream. */
const maxConnections = 1_400;
/** Timeout for the first message, ms. */
const peekMs = 10_000;
/** Time that a refused client has to read the reason, ms. */
const lingerMs = 2_000;
/** Interval between reports of unauthenticated connections, ms. */
const tellMs = 10_000;

const words = {
  ssh: "Only the cluster's proxies connect here. Use `tsh ssh`, or add the output of `tsh config` to ~/.ssh/config and use ssh with the host's name.",
  http: "Only the cluster's proxies connect here.",
};

/** The port on which proxies reach this host. A client must present a proxy's certificate, or is refused before it can send anything else. */
export class DirectPort {
  readonly #options: DirectPortOptions;
  readonly #sockets = new Set<Socket>();
  readonly #halfOpen = new HalfOpen(maxHalfOpen);
  readonly #failed: FailedArrivals;
  readonly #stop = new AbortController();
  #listener: Listener | undefined;
  #context: { readonly of: HostCredentials; readonly tls: SecureContext } | undefined;
  #idle: (() => void)[] = [];

  private constructor(options: DirectPortOptions) {
    this.#options = options;
    const info: Log["info"] = (_message, facts) => {
      const { count, peer, error } = facts as { count: number; peer: string; error: string };
      options.onStrangers({ count, peer, error });
    };
    this.#failed = new FailedArrivals({ log: { info }, clock: () => performance.now() });
  }

  /** Throws `unavailable` when it cannot listen on the port. */
  static async open(options: DirectPortOptions): Promise<DirectPort> {
    const port = new DirectPort(options);
    const { address, sockets, log } = options;
    port.#listener = await listen({ address, purpose: "agent", sockets, log, maxConnections, onSocket: (socket) => port.#enter(socket) });
    const telling = setInterval(() => port.#failed.tell(), tellMs).unref();
    port.#stop.signal.addEventListener("abort", () => clearInterval(telling), { once: true });
    return port;
  }

  /** As bound. */
  get address(): HostPort {
    return this.#listener?.address ?? this.#options.address;
  }

  /** Stops accepting connections; resolves when the accepted ones have ended, or `force` ends them. */
  async close(force?: AbortSignal): Promise<void> {
    await this.#listener?.close();
    const destroyAll = (): void => {
      for (const socket of this.#sockets) socket.destroy();
    };
    if (force?.aborted) destroyAll();
    else force?.addEventListener("abort", destroyAll, { once: true });
    if (this.#sockets.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    this.#stop.abort();
  }

  #enter(socket: Socket): void {
    this.#sockets.add(socket);
    this.#halfOpen.enter(socket);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
    this.#receive(socket).catch((thrown: unknown) => {
      const error = toPlatformError(thrown);
      const peer = peerAddress(socket);
      this.#options.log[error.code === "internal" ? "error" : "debug"]("connection ended", { peer, code: error.code, error });
      this.#failed.add(peer, error.message);
      socket.destroy();
    });
  }

  async #receive(socket: Socket): Promise<void> {
    const peeked = await peek(socket, { timeoutMs: peekMs, signal: this.#stop.signal });
    if (peeked.speaks !== "tls") {
      turnAway(socket, peeked.speaks, words);
      this.#failed.add(peerAddress(socket), `unexpected protocol: ${peeked.speaks}`);
      return;
    }
    const tls = await terminateTls(socket, { context: this.#tls(), alpn: alpn.direct, requestCertificate: true });
    tls.on("error", () => {});
    try {
      this.#checkProxy(tls);
    } catch (thrown) {
      return this.#refuse(tls, peerAddress(socket), thrown);
    }
    this.#halfOpen.leave(socket);
    await this.#options.serve(tls);
  }

  /** Only a proxy of this cluster may name the user and the client address; no other host may, although the same authority signed for it. */
  #checkProxy(tls: TLSSocket): void {
    const { hostCaPem: authorities, cluster } = this.#options.credentials();
    const { now = () => new Date() } = this.#options;
    const facts = { certificate: peerCertificate(tls), authorities, cluster, now: now() };
    const { role, id } = certifiedIdentity("host", facts, "only proxies connect to an agent");
    if (role !== "proxy") throw new PlatformError("denied", `refused: only proxies may connect to an agent, and ${id} has role ${role}`);
  }

  #refuse(tls: TLSSocket, peer: string, thrown: unknown): void {
    this.#failed.add(peer, errorText(thrown));
    tls.end(encodeStreamReply({ ok: false, error: toPlatformError(thrown) }));
    tls.resume();
    const timer = setTimeout(() => tls.destroy(), lingerMs);
    tls.once("close", () => clearTimeout(timer));
  }

  /** One for each renewal. */
  #tls(): SecureContext {
    const credentials = this.#options.credentials();
    if (this.#context?.of !== credentials) this.#context = { of: credentials, tls: hostContext(credentials) };
    return this.#context.tls;
  }
}
