import type { ClientHttp2Session } from "node:http2";
import { type ClientRequest, fieldOf, type UpstreamAnswer, type UpstreamRequest } from "../../http/exchange.ts";
import { type UpgradeAnswer, UpstreamHttp1 } from "../../http/upstream-http1.ts";
import { openHttp2, sendHttp2 } from "../../http/upstream-http2.ts";
import type { UpstreamRoad } from "./upstream-road.ts";

/** Maximum connections to the application for one connection of a user, and those that are kept between requests. */
const most = { open: 32, kept: 4 } as const;

export interface UpstreamOptions {
  readonly road: UpstreamRoad;
  readonly scheme: "http" | "https" | "unix";
  /** Whether connections are kept between requests. Default: yes. */
  readonly keepsConnections?: boolean;
}

/** The application, for one connection of a user: HTTP/1.1, or HTTP/2 where both ends speak it. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #http1: UpstreamHttp1;
  #session: Promise<ClientHttp2Session | undefined> | undefined;
  #prefersHttp1 = false;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#http1 = new UpstreamHttp1(options.road.open, { keeps: options.keepsConnections ?? true, most });
  }

  /** Throws what opening a connection throws, and Node's errors. */
  async send(client: Pick<ClientRequest, "version">, asked: UpstreamRequest): Promise<UpstreamAnswer> {
    const session = this.#wantsHttp2(client, asked) ? await this.#http2() : undefined;
    if (session === undefined) return await this.#http1.send({ ...asked, headers: asked.headers.filter(([name]) => name.toLowerCase() !== "te") });
    return await sendHttp2(session, asked, this.#options.scheme === "https" ? "https" : "http");
  }

  /** The same for a request for another protocol, over HTTP/1.1 always. */
  async upgrade(asked: UpstreamRequest, protocol: string): Promise<UpgradeAnswer> {
    return await this.#http1.upgrade(asked, protocol);
  }

  close(): void {
    this.#http1.close();
    this.#options.road.close();
    void this.#session?.then((session) => session?.destroy()).catch(() => {});
  }

  /** Without TLS nothing says whether the application speaks HTTP/2; gRPC is nothing else. */
  #wantsHttp2({ version }: Pick<ClientRequest, "version">, { headers }: UpstreamRequest): boolean {
    if (version !== 2) return false;
    return this.#options.scheme === "https" || /^application\/grpc/i.test(fieldOf(headers, "content-type") ?? "");
  }

  /** One session for all requests; undefined when the application prefers HTTP/1.1. */
  async #http2(): Promise<ClientHttp2Session | undefined> {
    if (this.#prefersHttp1) return undefined;
    const before = this.#session;
    const known = await before?.catch(() => undefined);
    const isOver = known === undefined || known.closed || known.destroyed;
    if (isOver && this.#session === before) this.#session = undefined;
    this.#session ??= this.#openHttp2();
    return await this.#session;
  }

  async #openHttp2(): Promise<ClientHttp2Session | undefined> {
    const { road, scheme } = this.#options;
    const opened = await road.open(["h2", "http/1.1"]);
    if (scheme === "https" && opened.selected !== "h2") {
      this.#prefersHttp1 = true;
      this.#http1.offer(opened.socket);
      return undefined;
    }
    return await openHttp2(opened, { scheme: scheme === "https" ? "https" : "http", peer: "the application" });
  }
}
