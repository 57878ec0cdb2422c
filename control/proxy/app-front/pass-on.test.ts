import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { GatheredMessage } from "../../../core/transport/gathered-message.ts";
import { connectionAgent } from "./agent-requests.ts";
import { answerHeaders, hasBody, passOn, requestHeaders } from "./pass-on.ts";

const stays = new AbortController().signal;

test.for([
  [
    ["Host", "a", "X-A", "1", "x-a", "2"],
    ["Host", "a", "X-A", "1", "x-a", "2"],
  ],
  [
    ["Cookie", "__Host-platform_app=x; b=1", "Expect", "100-continue"],
    ["Cookie", "b=1"],
  ],
  [
    ["cookie", "__Host-platform_app=x", "COOKIE", "__host-platform_state_1=y; c=2"],
    ["COOKIE", "c=2"],
  ],
  [
    ["Connection", "keep-alive, X-Secret", "Keep-Alive", "timeout=5"],
    ["Connection", "X-Secret"],
  ],
  [["Connection", "Close"], []],
  [
    ["Connection", "Upgrade", "Upgrade", "websocket"],
    ["Connection", "Upgrade", "Upgrade", "websocket"],
  ],
  [
    ["Platform_Jwt-Assertion", "x"],
    ["Platform_Jwt-Assertion", "x"],
  ],
] as const)("a request's %j go on as %j", ([raw, passed]) => {
  expect(requestHeaders(raw)).toEqual(passed);
});

test("an answer loses what concerns the agent's connection alone", () => {
  const raw = ["Connection", "keep-alive", "Keep-Alive", "timeout=5", "Transfer-Encoding", "chunked", "Set-Cookie", "a=1", "Set-Cookie", "b=2"];
  expect(answerHeaders(raw)).toEqual(["Set-Cookie", "a=1", "Set-Cookie", "b=2"]);
});

test.for([
  [{}, false],
  [{ "content-length": "0" }, false],
  [{ "content-length": "1" }, true],
  [{ "transfer-encoding": "chunked" }, true],
] as const)("%j: a body is %j", ([headers, has]) => {
  expect(hasBody({ headers })).toBe(has);
});

// Node's client accepts status lines that its server throws for, where nobody would catch it, and a 101 without the fields of an upgrade.
test.for([
  ["HTTP/1.1 042 X", 502],
  ["HTTP/1.1 200 O\u0001K", 502],
  ["HTTP/1.1 101 Switching Protocols", 502],
  ["HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade", 502],
  ["HTTP/1.1 200 Fine", 200],
] as const)("an agent that answers %j: the client gets %i", async ([line, expected]) => {
  const agent = createTcpServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end(`${line}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok`));
  });
  await once(agent.listen(0, "127.0.0.1"), "listening");
  const { port } = agent.address() as AddressInfo;
  const over = connectionAgent({ maxIdle: 1, idleMs: 1000, connect: async () => connect(port, "127.0.0.1") });
  const front = createServer((asked, response) => {
    void passOn(asked, response, { agent: over, left: stays, failed: () => response.writeHead(502).end() });
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  try {
    const sent = request({ host: "127.0.0.1", port: (front.address() as AddressInfo).port }).end();
    const [response] = (await once(sent, "response")) as [{ readonly statusCode?: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(expected);
  } finally {
    front.closeAllConnections();
    front.close();
    agent.close();
  }
});

const tiny = "1\r\nx\r\n".repeat(20_000);

test("an answer in chunks of one byte to a client that takes nothing waits, all but a thousand pieces of it, and arrives", async () => {
  const agent = createTcpServer((socket) => {
    socket
      .on("error", () => {})
      .once("data", () => socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${tiny}0\r\n\r\n`));
  });
  await once(agent.listen(0, "127.0.0.1"), "listening");
  const { port } = agent.address() as AddressInfo;
  const over = connectionAgent({ maxIdle: 1, idleMs: 1000, connect: async () => connect(port, "127.0.0.1") });
  const begun = Promise.withResolvers<ServerResponse>();
  const front = createServer((asked, response) => {
    // As if the kernel had no room.
    response.socket?.cork();
    begun.resolve(response);
    void passOn(asked, response, { agent: over, left: stays, failed: begun.reject });
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  const sent = request({ host: "127.0.0.1", port: (front.address() as AddressInfo).port }).end();
  const response = await begun.promise;
  const write = vi.spyOn(response, "write");
  await vi.waitUntil(() => write.mock.calls.length >= 1_000, { timeout: 20_000 });
  for (let turns = 0; turns < 50; turns += 1) await setImmediate();
  // The first one sends the headers.
  expect(write.mock.calls.length).toBe(1_025);
  write.mockRestore();
  response.socket?.uncork();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  expect((await text(answer)).length).toBe(20_000);
  front.closeAllConnections();
  front.close();
  agent.close();
});

test("an upload in chunks of one byte to an application that takes nothing waits, all but a thousand pieces of it, and arrives", async () => {
  const agent = createServer((asked, response) => void text(asked).then((body) => response.end(String(body.length))));
  await once(agent.listen(0, "127.0.0.1"), "listening");
  const { port } = agent.address() as AddressInfo;
  const below = connect(port, "127.0.0.1");
  below.cork();
  const over = connectionAgent({ maxIdle: 1, idleMs: 1000, connect: async () => below });
  const begun = Promise.withResolvers<IncomingMessage>();
  const front = createServer({ IncomingMessage: GatheredMessage }, (asked, response) => {
    begun.resolve(asked);
    void passOn(asked, response, { agent: over, left: stays, failed: begun.reject });
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  const client = connect((front.address() as AddressInfo).port, "127.0.0.1");
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${tiny}0\r\n\r\n`);
  const asked = await begun.promise;
  await vi.waitUntil(() => asked.isPaused(), { timeout: 20_000 });
  expect([below.writableLength < 7_000, asked.readableLength < 4_096]).toEqual([true, true]);
  below.uncork();
  expect(await text(client)).toMatch(/20000/);
  front.close();
  agent.closeAllConnections();
  agent.close();
});

test("a client that leaves while a connection is opened for it ends that, and its place is free", async () => {
  const opening = Promise.withResolvers<AbortSignal | undefined>();
  const over = connectionAgent({
    ...{ maxIdle: 1, idleMs: 1000 },
    connect: async (left) => {
      opening.resolve(left);
      const { promise, reject } = Promise.withResolvers<never>();
      left?.addEventListener("abort", () => reject(left.reason));
      return await promise;
    },
  });
  const left = new AbortController();
  const passed = Promise.withResolvers<void>();
  const failed = vi.fn();
  const front = createServer((asked, response) => {
    asked.socket.once("close", () => left.abort());
    void passOn(asked, response, { agent: over, left: left.signal, failed }).then(passed.resolve, passed.reject);
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  const client = connect((front.address() as AddressInfo).port, "127.0.0.1");
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(await opening.promise).toBe(left.signal);
  client.destroy();
  await passed.promise;
  expect(failed).not.toHaveBeenCalled();
  front.close();
});

test("a client that leaves in an upload that has been answered already ends it", async () => {
  const agent = createServer({ keepAliveTimeout: 0 }, (_asked, response) => void response.end("enough"));
  await once(agent.listen(0, "127.0.0.1"), "listening");
  const over = connectionAgent({ maxIdle: 1, idleMs: 1000, connect: async () => connect((agent.address() as AddressInfo).port, "127.0.0.1") });
  const left = new AbortController();
  const passed = Promise.withResolvers<void>();
  const front = createServer((asked, response) => {
    asked.socket.once("close", () => left.abort());
    void passOn(asked, response, { agent: over, left: left.signal, failed: passed.reject }).then(passed.resolve, passed.reject);
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  const client = connect((front.address() as AddressInfo).port, "127.0.0.1");
  client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx");
  expect(String((await once(client, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
  client.destroy();
  await passed.promise;
  front.close();
  agent.closeAllConnections();
  agent.close();
});

test("a request on a kept connection waits for the others of the same turn, with which it shares a tunnel", async () => {
  const agent = createServer((_asked, response) => response.end("ok"));
  await once(agent.listen(0, "127.0.0.1"), "listening");
  const below = connect((agent.address() as AddressInfo).port, "127.0.0.1");
  const over = connectionAgent({ maxIdle: 1, idleMs: 10_000, connect: async () => below });
  const held: boolean[] = [];
  const front = createServer((asked, response) => {
    void passOn(asked, response, { agent: over, left: new AbortController().signal, failed: () => response.destroy() });
    void afterTicks().then(() => held.push(below.writableCorked > 0 && below.writableLength > 0));
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  for (let turn = 0; turn < 2; turn += 1) {
    const sent = request({ host: "127.0.0.1", port: (front.address() as AddressInfo).port, agent: false }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    expect(await text(response)).toBe("ok");
  }
  expect(held.at(-1)).toBe(true);
  front.close();
  over.destroy();
  agent.close();
});

// The application may have acted on a request whose connection broke before the answer (RFC 9110, 9.2.2).
test.for([
  ["GET", 2, 200],
  ["HEAD", 2, 200],
  ["OPTIONS", 2, 200],
  ["POST", 1, 502],
  ["PUT", 1, 502],
  ["PATCH", 1, 502],
  ["DELETE", 1, 502],
  ["PROPFIND", 1, 502],
] as const)(
  "%s without a body over a kept connection that breaks: the agent gets it %i times, the client gets %i",
  async ([method, times, expected]) => {
    const seen: string[] = [];
    const agent = createServer((asked, response) => {
      // Node keeps no connection after an answer to HEAD without a length.
      response.setHeader("Content-Length", "0");
      if (asked.url === "/first") return void response.end();
      seen.push(asked.method ?? "");
      if (seen.length === 1) asked.socket.destroy();
      else response.end();
    });
    await once(agent.listen(0, "127.0.0.1"), "listening");
    const { port } = agent.address() as AddressInfo;
    const over = connectionAgent({ maxIdle: 1, idleMs: 10_000, connect: async () => connect(port, "127.0.0.1") });
    const front = createServer((asked, response) => {
      void passOn(asked, response, { agent: over, left: stays, failed: () => response.writeHead(502).end() });
    });
    await once(front.listen(0, "127.0.0.1"), "listening");
    const ask = async (path: string): Promise<number | undefined> => {
      const sent = request({ host: "127.0.0.1", port: (front.address() as AddressInfo).port, agent: false, method, path }).end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    const kept = once(over, "free");
    expect(await ask("/first")).toBe(200);
    await kept;
    expect([await ask("/second"), seen]).toEqual([expected, Array.from({ length: times }, () => method)]);
    front.close();
    over.destroy();
    agent.closeAllConnections();
    agent.close();
  },
);

/** Resolves once what is due before the next events has been done. */
async function afterTicks(): Promise<void> {
  for (let ticks = 0; ticks < 5; ticks += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
}
