import type { Socket } from "node:net";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { type Forwarding, handOver, noForwarding, type OpenChannel } from "./forwarding.ts";
import { listenOnLoopback } from "./tcp-sockets.ts";
import { listenAsUser, removeAsUser } from "./user-sockets.ts";

/** Maximum listeners of one connection. */
const mostListeners = 64;
/** Lower ports belong to root, as in sshd. */
const firstFreePort = 1024;

interface Listener {
  readonly stop: () => void;
  readonly close: () => Promise<void>;
}

/** `tcpip-forward` and `streamlocal-forward@openssh.com`: listeners on this host for one client; they end with the connection. */
export class RemoteForwards {
  readonly #forwarding: Forwarding;
  readonly #listeners = new Map<string, Listener>();
  /** Requests run one after another: a cancel finds the listeners requested before it. */
  #last: Promise<unknown> = Promise.resolve();
  #asked = 0;

  constructor(forwarding: Forwarding) {
    this.#forwarding = forwarding;
  }

  /** Returns the port. Throws PlatformError. */
  async listenTcp(address: string, port: number): Promise<number> {
    let bound = port;
    await this.#listen(formatHostPort({ host: address, port }), async () => {
      if (port !== 0 && port < firstFreePort && this.#forwarding.facts.user.uid !== 0) throw new PlatformError("denied", "Permission denied");
      const { connection, sockets } = this.#forwarding;
      const listener = await listenOnLoopback(sockets, port, (socket, chosen) => {
        const { remoteAddress = "", remotePort = 0 } = socket;
        this.#handOver(socket, (done) => connection.forwardOut(address, chosen, remoteAddress, remotePort, done));
      });
      bound = listener.port;
      return { key: `tcp ${address} ${bound}`, stop: () => listener.close(), close: async () => {} };
    });
    return bound;
  }

  async listenUnix(path: string): Promise<true> {
    await this.#listen(path, async () => {
      const { user, deps } = this.#forwarding.facts;
      const asUser = { user, launch: deps.launch };
      const { server } = await listenAsUser(asUser, path);
      server.on("error", () => {});
      server.on("connection", (socket) => this.#handOver(socket, (done) => this.#forwarding.connection.openssh_forwardOutStreamLocal(path, done)));
      const close = async (): Promise<void> => removeAsUser(asUser, { path, folder: false });
      return { key: `unix ${path}`, stop: () => server.close(), close };
    });
    return true;
  }

  cancelTcp(address: string, port: number): Promise<boolean> {
    return this.#cancel(`tcp ${address} ${port}`);
  }

  cancelUnix(path: string): Promise<boolean> {
    return this.#cancel(`unix ${path}`);
  }

  /** Resolves when each listener requested until now is open or refused, and each cancelled one is closed. */
  settled(): Promise<void> {
    return this.#last.then(
      () => {},
      () => {},
    );
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    await this.settled();
    await Promise.all([...this.#listeners.keys()].map((key) => this.#remove(key)));
  }

  async #listen(addr: string, start: () => Promise<Listener & { readonly key: string }>): Promise<void> {
    const { report, facts, gone } = this.#forwarding;
    await this.#inTurn(async () => {
      try {
        if (!facts.grant.rules.portForwarding) throw new PlatformError("denied", noForwarding);
        if (this.#listeners.size >= mostListeners) throw new PlatformError("limit", `more than ${mostListeners} listeners on one connection`);
        if (gone.aborted) throw new PlatformError("unavailable", "the client disconnected");
        const { key, ...listener } = await start();
        this.#listeners.set(key, listener);
        await report.note({ direction: "remote", addr }).catch(async (thrown: unknown) => {
          await this.#remove(key);
          throw thrown;
        });
      } catch (thrown) {
        await report.note({ direction: "remote", addr, error: toPlatformError(thrown).message }).catch(() => {});
        throw thrown;
      }
    });
  }

  #cancel(key: string): Promise<boolean> {
    return this.#inTurn(() => this.#remove(key));
  }

  async #remove(key: string): Promise<boolean> {
    const listener = this.#listeners.get(key);
    this.#listeners.delete(key);
    listener?.stop();
    await listener?.close().catch((thrown: unknown) => {
      this.#forwarding.facts.deps.log.info("could not remove a socket's file", { error: errorText(thrown) });
    });
    return listener !== undefined;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    // A client that keeps asking must wait for answers.
    if (this.#asked >= 2 * mostListeners) throw new PlatformError("limit", "too many requests for listeners at once");
    this.#asked += 1;
    const mine = this.#last.then(work, work);
    this.#last = mine;
    try {
      return await mine;
    } finally {
      this.#asked -= 1;
    }
  }

  #handOver(socket: Socket, open: OpenChannel): void {
    socket.allowHalfOpen = true;
    void handOver(this.#forwarding, socket, open);
  }
}
