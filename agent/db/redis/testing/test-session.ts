import { once } from "node:events";
import type { Duplex } from "node:stream";
import type { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type EngineSessionOptions, engineSession, type InsideEngineSession } from "../../../../test/inside/engine-session.ts";
import type { EngineSession } from "../../engine.ts";
import { encodeCommand } from "../resp.ts";
import { serveRedis } from "../serve-redis.ts";
import { TestServer } from "./test-server.ts";

/** A server and one session at a time with it, as alice. */
export class TestSession implements AsyncDisposable {
  readonly server: TestServer;
  readonly port: number;
  #inside: InsideEngineSession | undefined;
  #ended: Promise<PlatformError | undefined> | undefined;

  private constructor(server: TestServer, port: number) {
    this.server = server;
    this.port = port;
  }

  static async start(): Promise<TestSession> {
    const server = new TestServer();
    return new TestSession(server, await server.listen());
  }

  /** `change`: of what the engine gets. */
  async open(options: Partial<EngineSessionOptions> = {}, change: Partial<EngineSession> = {}): Promise<void> {
    const inside = await engineSession({ protocol: "redis", port: this.port, asked: { user: "alice" }, ...options });
    inside.near.setEncoding("latin1");
    this.#inside = inside;
    this.#ended = serveRedis({ ...inside.session, ...change });
  }

  get inside(): InsideEngineSession {
    if (this.#inside === undefined) throw new Error("the session is not open");
    return this.#inside;
  }

  /** What the engine has returned. */
  get ended(): Promise<PlatformError | undefined> {
    return this.#ended ?? Promise.reject(new Error("the session is not open"));
  }

  say(...words: readonly string[]): void {
    this.inside.near.write(encodeCommand(words));
  }

  /** All that comes until `end`, or the end of the connection. */
  async until(end: string): Promise<string> {
    const { near } = this.inside;
    let text = "";
    for (;;) {
      const chunk = near.read() as string | null;
      if (chunk !== null) text += chunk;
      if (text.endsWith(end) && end !== "") return text;
      if (near.readableEnded || near.destroyed) return `${text}<end>`;
      await changeOf(near);
    }
  }

  /** Its events, a line each; `!`: refused. */
  queries(): readonly string[] {
    return this.inside.events.map((event) =>
      event.event === "db.session.query"
        ? [event.db_query, ...(event.db_query_parameters ?? []), event.success ? "" : "!"].join(" ").trim()
        : event.event,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#inside?.near.destroy();
    this.server[Symbol.dispose]();
    await this.#ended;
  }
}

/** The next bytes, the end or the close of a stream. */
async function changeOf(stream: Duplex): Promise<void> {
  const over = new AbortController();
  await Promise.race(["readable", "end", "close"].map(async (event) => await once(stream, event, over)));
  over.abort();
}
