import type { Duplex } from "node:stream";
import { expect } from "vitest";
import type { ApiOptions, ApiWorld } from "./api-world.ts";

export const podPath = "/api/v1/namespaces/a/pods/web-1";
/** Server's answer to `spdyRequest`. */
export const spdyHead =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";
/** Server's answer to `socketRequest` for the protocol `v5.channel.k8s.io`. */
export const socketHead =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n";

/** All that arrives; `until` waits for a text in it. */
export class Seen {
  #chunks: Buffer[] = [];
  readonly ended: Promise<unknown>;

  constructor(stream: Duplex) {
    stream.on("data", (chunk: Buffer) => this.#chunks.push(chunk));
    stream.on("error", () => {});
    this.ended = new Promise((resolve) => void stream.once("close", resolve).once("end", resolve));
  }

  get bytes(): Buffer {
    const whole = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    if (whole !== undefined) return whole;
    this.#chunks = [Buffer.concat(this.#chunks)];
    return this.bytes;
  }

  async until(text: string | Buffer): Promise<void> {
    await expect.poll(() => this.bytes.includes(text), { timeout: 5_000 }).toBe(true);
  }
}

/** A client's request for SPDY, as kubectl sends it; `more`: header lines. */
export function spdyRequest(path: string, more = ""): string {
  return `POST ${path} HTTP/1.1\r\nHost: kube.test\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n${more}Content-Length: 0\r\n\r\n`;
}

/** A client's request for a WebSocket of these protocols; `more`: header lines. */
export function socketRequest(path: string, protocol: string, more = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: kube.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: ${protocol}\r\n${more}\r\n`;
}

/** The API server's side of the next upgrade, which it answers with `head`. */
export function nextUpgrade(world: ApiWorld, head: string): Promise<{ readonly socket: Duplex; readonly seen: Seen }> {
  return new Promise((resolve) => {
    world.onUpgrade = (_request, socket) => {
      socket.write(head);
      resolve({ socket, seen: new Seen(socket) });
    };
  });
}

/** A user's connection, and all that arrives on it. */
export async function enterSeen(
  world: ApiWorld,
  options: ApiOptions = {},
  service?: Awaited<ReturnType<ApiWorld["service"]>>,
): Promise<Awaited<ReturnType<ApiWorld["enter"]>> & { readonly seen: Seen }> {
  const entered = await world.enter(options, service);
  return { ...entered, seen: new Seen(entered.tls) };
}
