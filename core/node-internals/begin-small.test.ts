import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { buffer } from "node:stream/consumers";
import { connect, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { type DatabaseAuthority, databaseAuthority } from "../../test/inside/database-authority.ts";
import { beginSmall } from "./begin-small.ts";
import { makeTls } from "./make-tls.ts";

describe("a TLS client over a socket", () => {
  let db: DatabaseAuthority;
  let identity: { readonly cert: string; readonly key: string };
  const servers: Server[] = [];
  beforeAll(async () => {
    db = await databaseAuthority("db");
    const { certificate, privateKey } = await db.issue("127.0.0.1");
    identity = { cert: certificate, key: privateKey };
  });
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  async function listen(server: Server): Promise<Socket> {
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const socket = connectTcp((server.address() as AddressInfo).port, "127.0.0.1");
    await once(socket, "connect");
    return socket.on("error", () => {});
  }

  function begin(socket: Socket, isSmall = true): TLSSocket {
    const tls = makeTls(socket, () => connect({ socket, rejectUnauthorized: false }));
    if (isSmall) beginSmall(socket, tls);
    return tls.on("error", () => {});
  }

  /** Bytes that came between two pieces of a megabyte: a read, or the few that a record takes. */
  async function largestRead(isSmall: boolean): Promise<number> {
    const socket = await listen(createTlsServer(identity, (peer) => void peer.once("data", () => peer.end(Buffer.alloc(1_000_000)))));
    const tls = begin(socket, isSmall);
    await once(tls, "secureConnect");
    let [before, largest] = [socket.bytesRead, 0];
    tls.on("data", () => {
      largest = Math.max(largest, socket.bytesRead - before);
      before = socket.bytesRead;
    });
    tls.write("go");
    await once(tls, "end");
    return largest;
  }

  test("Node reads into a buffer of 64 KiB, and into one of 16 at most where it began small", async () => {
    expect(await largestRead(false)).toBeGreaterThanOrEqual(65_536);
    expect(await largestRead(true)).toBeLessThan(65_536);
  });

  test.each([1, 1_000, 4_096, 100_000, 3_000_000])("%i bytes go there and come back whole", async (length) => {
    const socket = await listen(createTlsServer({ ...identity, allowHalfOpen: true }, (peer) => void peer.pipe(peer)));
    const tls = begin(socket);
    const bytes = Buffer.from(Array.from({ length }, (_, index) => index % 251));
    tls.allowHalfOpen = true;
    tls.end(bytes);
    expect((await buffer(tls)).equals(bytes)).toBe(true);
  });

  test("the server's first bytes may come one by one", async () => {
    const plain = createTlsServer(identity, (peer) => void peer.end("hello"));
    const socket = await listen(
      createServer((peer) => {
        const [near, far] = duplexPair();
        plain.emit("connection", far);
        peer.setNoDelay(true).pipe(near);
        near.on("data", (chunk: Buffer) => {
          for (const byte of chunk) peer.write(Buffer.of(byte));
        });
        near.on("end", () => peer.end());
      }),
    );
    expect(String(await buffer(begin(socket)))).toBe("hello");
  });

  test.each([
    ["nothing", ""],
    ["an answer of HTTP", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"],
    ["other bytes", "-ERR unknown command\r\n"],
  ])("a server that sends %s and leaves fails the handshake", async (_, bytes) => {
    const socket = await listen(createServer((peer) => void peer.on("error", () => {}).end(bytes)));
    const tls = begin(socket);
    let isSecure = false;
    tls.on("secureConnect", () => (isSecure = true));
    await new Promise((resolve) => tls.on("close", resolve));
    expect(isSecure).toBe(false);
  });

  test("it may be destroyed before the server has said anything", async () => {
    const socket = await listen(createServer((peer) => void peer.on("error", () => {})));
    const tls = begin(socket);
    tls.destroy();
    await once(socket, "close");
    expect(socket.destroyed).toBe(true);
  });

  test("a stream other than a socket is left alone", async () => {
    const [near, far] = duplexPair();
    const server = createTlsServer(identity, (peer) => void peer.end("hello"));
    server.emit("connection", far);
    const tls = makeTls(near, () => connect({ socket: near, rejectUnauthorized: false }));
    beginSmall(near, tls);
    expect(String(await buffer(tls))).toBe("hello");
  });
});
