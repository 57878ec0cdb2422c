import { type Duplex, duplexPair } from "node:stream";
import { expect, test, vi } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { refusals } from "./refusals.ts";

type Protocol = keyof typeof refusals;
const protocols = Object.keys(refusals) as Protocol[];
const denied = new PlatformError("denied", "no");
const never = new AbortController().signal;

/** A client's end, and the refusal that it gets. */
function refused(protocol: Protocol, signal = never): { readonly client: Duplex; readonly over: Promise<void> } {
  const [client, server] = duplexPair();
  client.on("error", () => {});
  return { client, over: refusals[protocol](server, denied, signal) };
}

/** Everything until the end. */
async function read(client: Duplex): Promise<string> {
  return Buffer.concat((await client.toArray()) as Buffer[]).toString("latin1");
}

const hello = "\0\0\0\0admin.$cmd\0\0\0\0\0\0\0\0\0";
const helloDocument = "\x13\0\0\0\x10isMaster\0\x01\0\0\0\0";
const ping = "\0\0\0\0\0\x0f\0\0\0\x10ping\0\x01\0\0\0\0";
/** A message of MongoDB with this opcode. */
function mongo(opcode: number, body: string): string {
  const header = Buffer.alloc(16);
  header.writeInt32LE(16 + body.length, 0);
  header.writeInt32LE(opcode, 12);
  return header.toString("latin1") + body;
}

/** What a client of each protocol begins with, and how its refusal ends. */
// biome-ignore-start lint/suspicious/noControlCharactersInRegex: the protocols are binary
const begins: Readonly<Record<Protocol, readonly [first: string, reason: RegExp]>> = {
  postgres: ["\0\0\0\x08\x04\xd2\x16\x2f", /^N$/],
  mysql: ["", /^.\0\0\0\xff\x15\x04no$/s],
  mongodb: [mongo(2004, hello + helloDocument) + mongo(2013, ping), /maxWireVersion.*errmsg\0.{4}no\0.*Unauthorized/s],
  redis: ["*1\r\n$4\r\nPING\r\n", /^-NOPERM no\r\n$/],
};
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: the protocols are binary

test.for(protocols)("%s: a client that sends single bytes is refused as any other", async (protocol) => {
  const { client, over } = refused(protocol);
  const [first, reason] = begins[protocol];
  const all = read(client);
  for (const byte of Buffer.from(first, "latin1")) {
    client.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  client.end();
  expect(await all).toMatch(reason);
  await over;
});

test("postgres: requests for encryption get a no, and the startup packet the reason; a request to cancel gets nothing", async () => {
  const [tls, gss] = [Buffer.from("0000000804d2162f", "hex"), Buffer.from("0000000804d21630", "hex")];
  const startup = Buffer.from("\0\0\0\x16\0\x03\0\0user\0reader\0\0", "latin1");
  const { client, over } = refused("postgres");
  const answers: string[] = [];
  client.on("data", (chunk: Buffer) => answers.push(chunk.toString("latin1")));
  for (const [index, packet] of [gss, tls, startup].entries()) {
    client.write(packet);
    await vi.waitFor(() => expect(answers).toHaveLength(index + 1), { interval: 1, timeout: 20_000 });
  }
  expect(answers).toEqual(["N", "N", "E\0\0\0\x1eSFATAL\0VFATAL\0C28000\0Mno\0\0"]);
  client.end();
  await over;
  for (const bytes of [
    Buffer.from("0000001004d2162e0000002a01020304", "hex"),
    Buffer.concat([tls, startup]),
    Buffer.from("GET / HTTP/1.1\r\n\r\n"),
  ]) {
    const other = refused("postgres");
    other.client.write(bytes);
    expect(await read(other.client)).toBe("");
    await other.over;
  }
});

test.for(protocols)("%s: a client that ends at once, or has gone, keeps nothing", async (protocol) => {
  const ending = refused(protocol);
  ending.client.resume().end();
  await ending.over;
  const [client, server] = duplexPair();
  server.on("error", () => {}).destroy();
  client.on("error", () => {});
  await refusals[protocol](server, denied, never);
});

/** With time that only the test advances; a refusal leaves no timer of its own. What other tests of this process have left running may make some, too. */
async function inFakeTime(act: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const left = new Set<unknown>();
  const { setTimeout: begin, clearTimeout: stop } = globalThis;
  let count = 0;
  // Not by spies: what restores those of all tests later would bring this time back.
  Object.assign(globalThis, {
    setTimeout: (handler: () => void, ms?: number): NodeJS.Timeout => {
      const timer = begin(handler, ms);
      if (new Error("from where").stack?.includes("/core/databases/") === true) {
        left.add(timer);
        count += 1;
      }
      return timer;
    },
    clearTimeout: (timer: NodeJS.Timeout): void => {
      left.delete(timer);
      stop(timer);
    },
  });
  try {
    await act();
    expect(count).toBeGreaterThan(0);
    expect(left.size).toBe(0);
  } finally {
    Object.assign(globalThis, { setTimeout: begin, clearTimeout: stop });
    vi.useRealTimers();
  }
}

test.for(protocols)("%s: the signal ends the wait for a silent client at once, and that for one that does not leave", async (protocol) => {
  await inFakeTime(async () => {
    for (const first of ["", begins[protocol][0]]) {
      const stop = new AbortController();
      const { client, over } = refused(protocol, stop.signal);
      client.write(first);
      await new Promise((resolve) => setImmediate(resolve));
      stop.abort();
      await over;
      await refused(protocol, stop.signal).over;
    }
  });
});

test.for(protocols)("%s: a silent client is left after some time", async (protocol) => {
  await inFakeTime(async () => {
    const { over } = refused(protocol);
    await vi.advanceTimersByTimeAsync(35_000);
    await over;
  });
});

test.for(protocols)("%s: endless bytes end the connection, and little of them is held", async (protocol) => {
  const [client, server] = duplexPair();
  client.on("error", () => {}).resume();
  const stop = new AbortController();
  let most = 0;
  const over = refusals[protocol](server, denied, stop.signal);
  const chunk = Buffer.alloc(16_384, "*");
  let isOver = false;
  void over.then(() => (isOver = true));
  for (let count = 0; count < 1_000 && !isOver && !client.destroyed; count += 1) {
    client.write(chunk);
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, server.readableLength);
  }
  stop.abort();
  await over;
  expect(server.destroyed).toBe(true);
  expect(most).toBeLessThan(200_000);
});
