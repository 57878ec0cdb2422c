import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { connect } from "node:tls";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../errors/platform-error.ts";
import { maxClientHello, parseClientHello } from "./client-hello.ts";

/** The bytes that Node's own TLS client sends first. */
async function realHello(options: { servername?: string; ALPNProtocols?: string[] }): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const client = connect({ host: "127.0.0.1", port: address.port, ...options });
  client.on("error", () => {});
  const [socket] = await accepted;
  const [bytes] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The same handshake message in records of at most `size` bytes. */
function split(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.concat([Buffer.of(22, 3, 1, part.length >> 8, part.length & 255), part]));
  }
  return Buffer.concat(records);
}

/** The first result of a reader that gets `bytes` piece by piece. */
function firstAnswer(bytes: Buffer, cuts: readonly number[]): unknown {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  for (const end of ends) {
    const answer = attempt(bytes.subarray(0, end));
    if (answer !== undefined) return answer;
  }
  return undefined;
}

function attempt(bytes: Buffer): unknown {
  try {
    return parseClientHello(bytes);
  } catch (error) {
    if (error instanceof PlatformError) return error.message;
    throw error;
  }
}

describe("parseClientHello", () => {
  test("reads name and protocols of a real client", async () => {
    const bytes = await realHello({ servername: "Proxy.Example.com", ALPNProtocols: ["platform-stream", "h2"] });
    expect(parseClientHello(bytes)).toEqual({ servername: "proxy.example.com", alpn: ["platform-stream", "h2"] });
  });

  test("reads a hello without name and protocols", async () => {
    expect(parseClientHello(await realHello({}))).toEqual({ servername: undefined, alpn: [] });
  });

  test("gives the same answer however records and chunks are cut", async () => {
    const bytes = await realHello({ servername: "a.example", ALPNProtocols: ["platform-auth", "h2"] });
    const expected = { servername: "a.example", alpn: ["platform-auth", "h2"] };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2000 }), fc.array(fc.nat()), (size, cuts) => {
        const whole = split(bytes, Math.max(size, 8));
        expect(firstAnswer(whole, cuts)).toEqual(expected);
      }),
    );
  });

  test("throws only PlatformError for a damaged hello, the same for every chunking", async () => {
    const bytes = await realHello({ servername: "a.example", ALPNProtocols: ["h2"] });
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), fc.array(fc.nat()), (at, value, cuts) => {
        const damaged = Buffer.from(bytes);
        damaged[at] = value;
        expect(firstAnswer(damaged, cuts)).toEqual(attempt(damaged));
      }),
    );
  });

  test("throws only PlatformError for any bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => void attempt(Buffer.from(bytes))));
    const record = fc
      .uint8Array({ maxLength: 600 })
      .map((bytes) => Buffer.concat([Buffer.of(22, 3, 1, bytes.length >> 8, bytes.length & 255, 1, 0), bytes]));
    fc.assert(fc.property(record, (bytes) => void attempt(bytes)));
  });

  test("refuses a hello that announces or sends more than the limit", () => {
    expect(() => parseClientHello(Buffer.of(22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff))).toThrow(/longer than 16384/);
    const endless = Buffer.concat([Buffer.of(22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xff), Buffer.alloc(maxClientHello)]);
    expect(() => parseClientHello(endless)).toThrow(PlatformError);
  });
});
