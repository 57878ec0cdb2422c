import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions, Server as TlsServer } from "node:tls";
import { ObjectId } from "bson";
import { type MongoCommand, MongoConnection } from "./mongo-connection.ts";
import type { MongoSet } from "./mongo-set.ts";
import { MongoStore } from "./mongo-store.ts";

export interface MongoServerOptions {
  readonly port?: number;
  /** Key, certificate and, for clients' certificates, `ca`. */
  readonly tls?: TlsOptions;
  /** Accounts of $external, `CN=alice`; undefined: commands need no login. */
  readonly accounts?: readonly string[];
  readonly set?: MongoSet;
}

/**
 * A server of ours that speaks as much of MongoDB as tests need: OP_QUERY and OP_MSG, hello that waits and streams, a few commands on memory, the
 * answers of a replica set, login by certificate. It stands in where no mongod can be installed.
 */
export class MongoServer {
  readonly commands: MongoCommand[] = [];
  readonly store: MongoStore;
  readonly #options: MongoServerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly processId = new ObjectId();
  silent = false;
  #port = 0;

  constructor(options: MongoServerOptions) {
    this.#options = options;
    this.store = options.set?.store ?? new MongoStore();
    const { tls } = options;
    const onSocket = (socket: Socket): void => this.#accept(socket);
    this.#server =
      tls === undefined
        ? createServer(onSocket)
        : createTlsServer({ ...tls, requestCert: tls.ca !== undefined, rejectUnauthorized: false }, onSocket);
  }

  /** As the set knows this member. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get accounts(): readonly string[] | undefined {
    return this.#options.accounts;
  }

  get set(): MongoSet | undefined {
    return this.#options.set;
  }

  get isPrimary(): boolean {
    return this.set === undefined || this.set.primary === this.address;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#sockets.size;
  }

  async open(): Promise<this> {
    await once(this.#server.listen(this.#options.port ?? 0, "127.0.0.1"), "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
    this.set?.members.push(this.address);
    return this;
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true).on("error", () => {});
    const connection = new MongoConnection(this, socket);
    socket.on("data", (chunk: Buffer) => connection.push(chunk));
    socket.on("close", () => {
      this.#sockets.delete(socket);
      connection.close();
    });
  }

  /** Its files of TLS have changed: new connections use these. */
  setTls(tls: TlsOptions): void {
    if (this.#server instanceof TlsServer) this.#server.setSecureContext(tls);
  }

  /** Breaks the connections that are open. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}

export async function openMongoServer(options: MongoServerOptions = {}): Promise<MongoServer> {
  return await new MongoServer(options).open();
}
