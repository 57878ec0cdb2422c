import type { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { HostPort } from "../../../../core/transport/host-port.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "../../../../test/inside/engine-session.ts";
import { MongoWireClient } from "../../../../test/inside/mongo-wire-client.ts";
import { type MongoServer, openMongoServer } from "../../../../test/world/mongo-server.ts";
import { serveMongodb } from "../serve-mongodb.ts";

/** Commands of clients. */
export const hello = { hello: 1, client: { driver: { name: "ours", version: "1" } }, $db: "admin" };
export const find = { find: "c", $db: "orders" };

export interface SessionOptions extends Partial<EngineSessionOptions> {
  /** Default: the one server. */
  readonly members?: readonly MongoServer[];
  /** Addresses of the database; default: those of the members. */
  readonly addresses?: readonly HostPort[];
  /** Options of the database's URI, `replicaSet=rs0`. */
  readonly uri?: string;
}

export interface TestSession extends InsideEngineSession {
  readonly client: MongoWireClient;
  readonly done: Promise<PlatformError | undefined>;
  /** One for each sign of the user's activity. */
  readonly touches: number[];
}

/** A server, and sessions of alice with access to its database `orders`. Disposing ends them all. */
export class TestSessions implements AsyncDisposable {
  readonly server: MongoServer;
  readonly #opened: TestSession[] = [];

  private constructor(server: MongoServer) {
    this.server = server;
  }

  static async start(): Promise<TestSessions> {
    return new TestSessions(await openMongoServer());
  }

  async open({ members = [this.server], addresses, uri = "", ...others }: SessionOptions = {}): Promise<TestSession> {
    const inside = await engineSession({
      protocol: "mongodb",
      port: this.server.port,
      asked: { user: "alice", name: "orders" },
      mayUse: (name) => name === "orders",
      ...others,
    });
    const [first, ...rest] = addresses ?? members.map(({ port }) => ({ host: "127.0.0.1", port }));
    const database = {
      ...inside.session.database,
      ...(first !== undefined && { addresses: [first, ...rest] as const }),
      options: new Map(new URLSearchParams(uri)),
    };
    const touches: number[] = [];
    const session = { ...inside.session, database, reachedAt: "127.0.0.1:27017", touch: () => void touches.push(1) };
    const opened = { ...inside, done: serveMongodb(session), client: new MongoWireClient(inside.near), touches };
    this.#opened.push(opened);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { near, done } of this.#opened.splice(0)) {
      near.destroy();
      await done;
    }
    await this.server[Symbol.asyncDispose]();
  }
}
