import { closeSync } from "node:fs";
import type { Server } from "node:net";
import { descriptorOf } from "../node-internals/descriptor-of.ts";
import type { HostPort } from "./host-port.ts";

/** A listening socket that one process passes to the next. */
export interface HandedSocket {
  /** Purpose, and the configured address: the next process takes it if it needs the same. */
  readonly name: string;
  readonly fd: number;
  /** As bound, with the actual port where 0 was configured. */
  readonly port: number;
}

export interface ListenOptions extends HostPort {
  /** Purpose of the listener: `web`, `auth`, … */
  readonly purpose: string;
  readonly backlog?: number;
}

/**
 * The listening sockets of this process: bound by it, or taken over from the previous process, so that no connection is
 * refused while one replaces the other. Sockets that were taken over do not accept before `start`.
 */
export class ListenSockets {
  readonly #inherited: Map<string, HandedSocket>;
  readonly #open = new Map<string, { readonly server: Server; readonly port: number }>();
  #waiting: (() => Promise<void>)[] = [];
  readonly #begun = Promise.withResolvers<void>();
  #isStarted: boolean;

  /** `standby`: another process serves until `start`. */
  constructor(inherited: readonly HandedSocket[] = [], standby = inherited.length > 0) {
    this.#inherited = new Map(inherited.map((socket) => [socket.name, socket]));
    this.#isStarted = !standby;
    if (!standby) this.#begun.resolve();
  }

  /** Lets the server listen, now or from `start` on. Returns the bound port. Rejects with the system's error. */
  async listen(server: Server, { purpose, host, port, backlog = 511 }: ListenOptions): Promise<HostPort> {
    const name = `${purpose} ${host} ${port}`;
    const handed = this.#inherited.get(name);
    this.#inherited.delete(name);
    server.once("close", () => this.#open.delete(name));
    if (handed === undefined) {
      await listening(server, () => server.listen({ host, port, backlog }));
    } else {
      const begin = (): Promise<void> => listening(server, () => server.listen({ fd: handed.fd, backlog }));
      if (this.#isStarted) await begin();
      else this.#waiting.push(begin);
    }
    const bound = handed?.port ?? boundPort(server) ?? port;
    this.#open.set(name, { server, port: bound });
    return { host, port: bound };
  }

  /** Resolves when this process serves: at once, unless another process does until `start`. */
  get started(): Promise<void> {
    return this.#begun.promise;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Accepts on all sockets that were taken over, and closes the unused ones. */
  async start(): Promise<void> {
    this.#isStarted = true;
    await Promise.all(this.#waiting.splice(0).map((begin) => begin()));
    for (const { fd } of this.#inherited.values()) closeSync(fd);
    this.#inherited.clear();
    this.#begun.resolve();
  }

  /** Sockets for the next process. */
  handOver(): readonly HandedSocket[] {
    return [...this.#open].flatMap(([name, { server, port }]) => (server.listening ? [{ name, fd: listeningDescriptor(server), port }] : []));
  }
}

function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      resolve();
    });
    listen();
  });
}

function listeningDescriptor(server: Server): number {
  const fd = descriptorOf(server);
  if (fd === undefined) throw new Error("a listening server has no file descriptor");
  return fd;
}

function boundPort(server: Server): number | undefined {
  const bound = server.address();
  return typeof bound === "object" && bound !== null ? bound.port : undefined;
}
