import type { Socket } from "node:net";
import type { Client, Dispatcher } from "undici";
import { PlatformError } from "../../errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { connectionError } from "./connection-error.ts";
import { type DialOptions, dial, dialTls } from "./dial.ts";
import type { HttpAnswer } from "./get-over.ts";

export interface OriginOptions extends Pick<DialOptions, "env" | "proxyCa"> {
  readonly target: HostPort;
  /** PEM authorities, asked for at each connection, as they may be replaced; `undefined` for those that this machine trusts. */
  readonly ca: () => Promise<readonly string[] | undefined>;
  /** HTTP without TLS. */
  readonly plain?: boolean | undefined;
}

export interface HttpRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Total timeout, connection included, ms; default 20,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum body of the answer; default 1 MiB. */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An answer whose body is still to come. Ending the iteration ends the connection. */
export interface HttpStream {
  readonly status: number;
  readonly body: AsyncIterable<Buffer>;
}

/**
 * One server that is asked repeatedly: its connection is kept between requests, which wait for each other, and dialled again when it has ended.
 * No request is sent twice, no redirect is followed. Errors are those of `dialTls`, `unavailable` for a connection that ended, `timeout`, `limit`.
 */
export class HttpOrigin implements AsyncDisposable {
  readonly #options: OriginOptions;
  #client: Promise<Client> | undefined;

  constructor(options: OriginOptions) {
    this.#options = options;
  }

  /** The whole answer. */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    this.#client ??= this.#open();
    using attempt = new RequestLimit(request, this.#peer);
    try {
      const answer = await this.#ask(await this.#client, request, attempt.signal);
      const body = await wholeBody(answer.body as AsyncIterable<Buffer>, request.maxBytes ?? 1_048_576, this.#what(request));
      return { status: answer.statusCode, headers: flat(answer.headers), body };
    } catch (thrown) {
      throw attempt.explain(thrown, this.#what(request));
    }
  }

  /** An answer that lasts, on a connection of its own, until `signal` or the end of the iteration. The time limit is that of its headers. */
  async stream(request: HttpRequest & { readonly signal: AbortSignal }): Promise<HttpStream> {
    const client = await this.#open();
    const attempt = new RequestLimit(request, this.#peer);
    try {
      const answer = await this.#ask(client, request, attempt.signal);
      attempt.reached();
      return { status: answer.statusCode, body: this.#parts(client, answer, { request, attempt }) };
    } catch (thrown) {
      await client.destroy();
      throw attempt.explain(thrown, this.#what(request));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const client = await this.#client;
    this.#client = undefined;
    await client?.destroy();
  }

  async *#parts(client: Client, answer: Dispatcher.ResponseData, { request, attempt }: { request: HttpRequest; attempt: RequestLimit }) {
    try {
      yield* answer.body as AsyncIterable<Buffer>;
    } catch (thrown) {
      throw attempt.explain(thrown, this.#what(request));
    } finally {
      attempt[Symbol.dispose]();
      await client.destroy();
    }
  }

  get #peer(): string {
    return formatHostPort(this.#options.target);
  }

  #what({ method, path }: HttpRequest): string {
    return `the answer of ${this.#peer} to ${method} ${path.split("?", 1)[0]}`;
  }

  async #open(): Promise<Client> {
    // Loaded with the first request (decision 5).
    const undici = await import("undici");
    const connect = (_options: object, connected: Connected): void => {
      this.#connect().then(
        (socket) => connected(null, socket),
        (error: unknown) => connected(error instanceof Error ? error : new Error(String(error)), null),
      );
    };
    return new undici.Client("http://connected.invalid", { connect, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 10_000 });
  }

  async #connect(): Promise<Socket> {
    const { target, ca, plain = false, env, proxyCa } = this.#options;
    const options = { env, ...(proxyCa !== undefined && { proxyCa }) };
    if (plain) return await dial(target, options);
    return await dialTls(target, { alpn: ["http/1.1"], servername: target.host, ca: await ca() }, options);
  }

  async #ask(client: Client, { method, path, headers, body }: HttpRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    if (!/^\/[\x21-\x7e]*$/.test(path)) throw new PlatformError("invalid", `${JSON.stringify(path)} is not a path`);
    const all = { host: this.#peer, "user-agent": "platform", ...headers };
    return await client.request({ method, path, headers: all, body: body ?? null, signal });
  }
}

type Connected = (...result: [error: null, socket: Socket] | [error: Error, socket: null]) => void;

/** Time limit and signal of one request. */
class RequestLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #peer: string;
  readonly #timer: NodeJS.Timeout;
  readonly #stop = (): void => this.#controller.abort(this.#outer?.reason);

  constructor({ timeoutMs = 20_000, signal }: HttpRequest, peer: string) {
    this.#outer = signal;
    this.#peer = peer;
    this.#timer = setTimeout(
      () => this.#controller.abort(new PlatformError("timeout", `${peer} did not answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    if (signal?.aborted === true) this.#stop();
    else signal?.addEventListener("abort", this.#stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The headers are there: only the caller's signal counts from now on. */
  reached(): void {
    clearTimeout(this.#timer);
  }

  explain(thrown: unknown, what: string): unknown {
    if (this.signal.aborted) return this.signal.reason;
    return connectionError(thrown, { message: `${what} did not come`, hint: `check the address ${this.#peer} and its port` });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#stop);
  }
}

async function wholeBody(body: AsyncIterable<Buffer>, maxBytes: number, what: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) throw new PlatformError("limit", `${what} is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]));
}
