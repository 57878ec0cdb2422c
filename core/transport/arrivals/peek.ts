import type { Duplex } from "node:stream";
import { PlatformError } from "../../errors/platform-error.ts";
import { type ClientHello, parseClientHello } from "./client-hello.ts";
import { mayBeProxyHeader } from "./proxy-header.ts";

/** Protocol of a client of the web port. */
export type Peeked = { readonly speaks: "tls"; readonly hello: ClientHello } | { readonly speaks: "ssh" | "http" | "postgres" };

export interface PeekOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Reads until the peer's protocol is clear, and puts everything back into the socket, which is left paused.
 * Throws PlatformError `invalid`, `timeout` or `unavailable`.
 */
export async function peek(socket: Duplex, options: PeekOptions): Promise<Peeked> {
  return await readStart(socket, options, (bytes) => {
    const value = recognize(bytes);
    return value && { value, used: 0 };
  });
}

/** What the first bytes of a connection are, and how many of them are used up. */
interface Start<Value> {
  readonly value: Value;
  readonly used: number;
}

/**
 * Reads until the first bytes make sense to `read` (undefined: more are needed), and puts those that are not used back into the socket, which is left paused.
 * Throws what `read` throws, PlatformError `timeout` or `unavailable`.
 */
export function readStart<Value>(socket: Duplex, options: PeekOptions, read: (bytes: Buffer) => Start<Value> | undefined): Promise<Value> {
  return new Promise((resolve, reject) => {
    let held: Buffer = Buffer.alloc(0);
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      socket.off("readable", onReadable).off("end", onEnd).off("close", onEnd).off("error", onError);
      options.signal?.removeEventListener("abort", onEnd);
      settle();
    };
    const fail = (error: PlatformError): void => finish(() => reject(error));
    const onEnd = (): void => fail(new PlatformError("unavailable", "the connection ended before its first message"));
    const onError = (cause: Error): void => fail(new PlatformError("unavailable", "the connection broke before its first message", { cause }));
    const timer = setTimeout(
      () => fail(new PlatformError("timeout", `no complete first message within ${Math.round(options.timeoutMs / 1000)} s`)),
      options.timeoutMs,
    );
    const onReadable = (): void => {
      for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
        held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      }
      if (held.length === 0) return;
      try {
        const found = read(held);
        if (found === undefined) return;
        finish(() => {
          socket.pause();
          if (found.used < held.length) socket.unshift(held.subarray(found.used));
          resolve(found.value);
        });
      } catch (thrown) {
        fail(thrown instanceof PlatformError ? thrown : new PlatformError("internal", "could not read the first message", { cause: thrown }));
      }
    };
    socket.on("readable", onReadable).on("end", onEnd).on("close", onEnd).on("error", onError);
    options.signal?.addEventListener("abort", onEnd);
    if (socket.destroyed || options.signal?.aborted) onEnd();
    else onReadable();
  });
}

const sshStart = "SSH-";
const httpStart = /^(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT|PRI) /;
/** Longest prefix needed to recognize HTTP: `OPTIONS ` and `CONNECT `. */
const httpLength = 8;

/** The codes with which a client of PostgreSQL asks for encryption, or to cancel a query; they follow a length. */
const postgresCodes: readonly number[] = [80_877_102, 80_877_103, 80_877_104];

/** Undefined when more bytes are needed. Throws PlatformError `invalid` for any other protocol. */
export function recognize(bytes: Buffer): Peeked | undefined {
  if (bytes[0] === 22) {
    const hello = parseClientHello(bytes);
    return hello === undefined ? undefined : { speaks: "tls", hello };
  }
  // A length below 64 KiB: no text begins with a zero.
  if (bytes[0] === 0) {
    if (bytes.length < httpLength) return undefined;
    if (postgresCodes.includes(bytes.readUInt32BE(4))) return { speaks: "postgres" };
  }
  const start = bytes.toString("latin1", 0, httpLength);
  if (start.startsWith(sshStart)) return { speaks: "ssh" };
  if (sshStart.startsWith(start)) return undefined;
  if (httpStart.test(start)) return { speaks: "http" };
  const isProxied = mayBeProxyHeader(bytes);
  if (bytes.length < httpLength && (isProxied || /^[A-Z]+$/.test(start))) return undefined;
  if (isProxied) {
    const where = "at ports of a proxy, from addresses in its proxy_service.proxy_protocol";
    throw new PlatformError("invalid", `the connection starts with a header of the PROXY protocol, which is accepted only ${where}`);
  }
  throw new PlatformError("invalid", "the connection starts with neither TLS, SSH nor HTTP");
}

/** Time that a refused peer has to read the reason, ms. */
const lingerMs = 2000;

/** Messages of a TLS-only port to other clients: `ssh` for SSH clients, `http` for browsers and others. */
interface TurnAwayWords {
  readonly ssh: string;
  readonly http: string;
}

/** Reports in the peer's own protocol that this is the wrong port. SSH clients show such a line (RFC 4253 §4.2). */
export function turnAway(socket: Duplex, speaks: Exclude<Peeked["speaks"], "tls">, words: TurnAwayWords): void {
  if (speaks === "postgres") return void socket.destroy();
  const http = `${words.http}\n`;
  const text =
    speaks === "ssh"
      ? `${words.ssh}\r\n`
      : `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${http.length}\r\nConnection: close\r\n\r\n${http}`;
  socket.end(text);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
  socket.once("end", () => socket.destroy());
}
