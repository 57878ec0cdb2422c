import type { Socket } from "node:net";
import { expect } from "vitest";
import type { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "../../../../test/inside/engine-session.ts";
import type { CancelKeys } from "../cancel-keys.ts";
import { encodeStartup } from "../first-packet.ts";
import { postgresEngine } from "../serve-postgres.ts";
import { type FakeServer, type FakeServerOptions, fakeServer } from "./fake-server.ts";
import { ready } from "./postgres-bytes.ts";

/** A startup packet with these parameters. */
export const startup = (pairs: Readonly<Record<string, string>>, minor = 0): Buffer =>
  encodeStartup({ minor, parameters: Object.entries(pairs).map(([name, value]) => ({ name, value: Buffer.from(value) })) });

/** The names of a login. */
export const ann = { user: "ann", database: "shop" };

export interface SessionOptions extends Partial<EngineSessionOptions> {
  /** Default: one of its own. */
  readonly server?: FakeServerOptions | FakeServer;
  readonly keys?: CancelKeys;
  /** Of the startup packet, beside the names. */
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface TestSession extends InsideEngineSession {
  readonly server: FakeServer;
  readonly served: Promise<PlatformError | undefined>;
  /** What the client has got until these bytes or its end. */
  readonly until: (mark: Buffer | string) => Promise<string>;
  readonly all: () => Promise<string>;
}

/** Sessions of one test, each with a server; disposing ends them all. */
export class TestSessions implements AsyncDisposable {
  readonly #open = new Set<FakeServer | Socket>();

  async run(options: SessionOptions = {}): Promise<TestSession> {
    const { server: given, keys, parameters: _, ...session } = options;
    const server = given !== undefined && "port" in given ? given : await fakeServer(given);
    const inside = await engineSession({ protocol: "postgres", port: server.port, ...session });
    this.#open.add(inside.near).add(server);
    const served = postgresEngine(keys === undefined ? {} : { keys })(inside.session);
    let got = "";
    const { near } = inside;
    near.setEncoding("latin1").on("data", (text) => {
      got += String(text);
    });
    const isOver = (): boolean => near.readableEnded || near.destroyed;
    const until = async (mark: Buffer | string): Promise<string> => {
      await expect.poll(() => got.includes(mark.toString("latin1")) || isOver()).toBe(true);
      return got;
    };
    const all = async (): Promise<string> => {
      await expect.poll(isOver).toBe(true);
      return got;
    };
    return { ...inside, server, served, until, all };
  }

  /** A session that is logged in. */
  async loggedIn(options: SessionOptions = {}): Promise<TestSession & { readonly upstream: Socket }> {
    const one = await this.run(options);
    one.near.write(startup({ ...ann, ...options.parameters }));
    await one.until(ready);
    const upstream = one.server.sessions.at(-1);
    if (upstream === undefined) throw new Error("the server has no session");
    return { ...one, upstream };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#open];
    this.#open.clear();
    for (const one of all) await ("destroy" in one ? one.destroy() : one[Symbol.asyncDispose]());
  }
}
