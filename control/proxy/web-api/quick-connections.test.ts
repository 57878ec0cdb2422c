import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { RequestLimit } from "../../limits/request-limit.ts";
import type { QuickAnswer } from "./quick-answers.ts";
import { type ConnectionLimits, QuickConnections } from "./quick-connections.ts";

const usual: ConnectionLimits = { requests: 20, headersMs: 10_000, keepAliveMs: 30_000 };
const answer: QuickAnswer = {
  headers: ["Content-Length", "4"],
  body: "v1.0",
  keeping: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\nKeep-Alive: timeout=30, max=20\r\n\r\nv1.0",
  closing: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nv1.0",
};

interface World extends AsyncDisposable {
  readonly quick: QuickConnections;
  /** The server's ends, in order of arrival. */
  readonly sockets: readonly Socket[];
  /** Requests that Node's server got. */
  readonly asked: readonly string[];
  connect(): Promise<Socket>;
}

/** Node's HTTP server answers /quick as a quick answer says, all else with how it was asked; with `isQuick` connections begin here. */
async function startWorld({ isQuick = true, limits = usual, burst = 1e9 } = {}): Promise<World> {
  const sockets: Socket[] = [];
  const asked: string[] = [];
  const http = createHttpServer({ keepAliveTimeout: limits.keepAliveMs }, (request, response) => {
    asked.push(request.url ?? "");
    if (quick.isLast(request.socket)) response.setHeader("Connection", "close");
    response.sendDate = false;
    let body = `${request.method} ${request.url} `;
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString("latin1");
    });
    request.on("end", () => {
      const text = request.method === "GET" && request.url === "/quick" ? answer.body : body;
      response.writeHead(200, ["Content-Length", String(text.length)]).end(text, "latin1");
    });
  });
  http.maxRequestsPerSocket = limits.requests;
  const handOver = (socket: Socket) => http.emit("connection", socket);
  const limit = new RequestLimit({ perMinute: 0, burst, clock: () => 0 });
  const quick = new QuickConnections({ answers: (path) => (path === "/quick" ? answer : undefined), limit, limits, handOver });
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.push(socket.on("error", () => {}));
    if (isQuick) quick.accept(socket);
    else handOver(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    quick,
    sockets,
    asked,
    connect: async () => {
      const socket = connect({ port: (server.address() as AddressInfo).port, noDelay: true });
      await once(
        socket.on("error", () => {}),
        "connect",
      );
      return socket;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** All that the server says until it ends. */
async function everything(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

const plain = "GET /quick HTTP/1.1\r\nHost: a\r\n\r\n";
const other = "GET /other HTTP/1.1\r\nHost: a\r\n\r\n";

const closing = "GET /quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

const firstLine = fc
  .constantFrom("GET /quick", "GET /other", "HEAD /quick", "POST /quick", "OPTIONS *", "GET http://a/quick")
  .map((line) => `${line} HTTP/1.1\r\n`);
const header = fc.constantFrom(
  "",
  "Host: b\r\n",
  "Accept: a\r\n",
  "accept:a\r\n",
  "Cookie: a\r\n",
  "Content-Length: 0\r\n",
  "Connection: Keep-Alive\r\n",
);
const framed = fc.constantFrom(
  "\r\n",
  "Content-Length: 3\r\n\r\nabc",
  "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
  `Content-Length: ${plain.length}\r\n\r\n${plain}`,
);
const odd = fc.tuple(firstLine, header, framed).map(([line, more, rest]) => `${line}${more.startsWith("Content") ? "" : more}Host: a\r\n${rest}`);
const talk = fc.array(
  fc.oneof({ weight: 3, arbitrary: fc.constant(plain) }, { weight: 1, arbitrary: fc.constant(other) }, { weight: 1, arbitrary: odd }),
  {
    minLength: 1,
    maxLength: 18,
  },
);

/** Sends it in pieces, then ends, and reads what the server says. */
async function converse(world: World, text: string, cuts: readonly number[]): Promise<string> {
  const socket = await world.connect();
  const said = everything(socket);
  let sent = 0;
  for (const cut of [...cuts.map((at) => at % text.length).toSorted((a, b) => a - b), text.length]) {
    socket.write(text.slice(sent, cut), "latin1");
    sent = cut;
    await turn();
  }
  socket.end();
  return await said;
}

test("whatever is asked, in whatever pieces, is answered as Node's server alone answers it", async () => {
  await using ours = await startWorld();
  await using nodes = await startWorld({ isQuick: false });
  await fc.assert(
    fc.asyncProperty(talk, fc.constantFrom("", closing), fc.array(fc.nat(), { maxLength: 4 }), async (requests, last, cuts) => {
      const text = requests.join("") + last;
      expect(await converse(ours, text, cuts)).toBe(await converse(nodes, text, cuts));
    }),
  );
});

test.for([
  ["a header that cannot be", "GET /quick HTTP/1.1\r\nHost: a\r\nAccept : a\r\n\r\n"],
  ["two ways to tell the length", `GET /quick HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["no host", "GET /quick HTTP/1.1\r\n\r\n"],
  ["another protocol", "\x16\x03\x01"],
])("%s is refused after the answers before it, and ends the connection", async ([, text]) => {
  await using world = await startWorld();
  const said = await converse(world, `${plain}${plain}${text}${plain}`, []);
  expect(said.startsWith(`${answer.keeping}${answer.keeping}HTTP/1.1 400 Bad Request\r\nConnection: close\r\n`)).toBe(true);
  expect(said.match(/HTTP/g)).toHaveLength(3);
});

test("plain requests do not reach Node's server, until the first other one", async () => {
  await using world = await startWorld();
  expect(await converse(world, plain + plain, [])).toBe(answer.keeping + answer.keeping);
  expect(world.asked).toEqual([]);
  await converse(world, plain + other + plain, []);
  expect(world.asked).toEqual(["/other", "/quick"]);
});

test("a connection ends with the last request it may have, whoever answers it", async () => {
  await using world = await startWorld();
  expect(await converse(world, plain.repeat(30), [])).toBe(answer.keeping.repeat(19) + answer.closing);
  const mixed = await converse(world, plain.repeat(5) + other.repeat(30), []);
  expect(mixed.match(/HTTP\/1.1 200/g)).toHaveLength(20);
  expect(mixed.match(/^Connection: close/gm)).toHaveLength(1);
});

test("a client that has asked too much is left to the routes, which say so", async () => {
  await using world = await startWorld({ burst: 2 });
  await converse(world, plain.repeat(3), []);
  expect(world.asked).toEqual(["/quick"]);
});

test("silence ends a connection: with a word before the first request, without one after", async () => {
  await using silent = await startWorld({ limits: { ...usual, headersMs: 1 } });
  expect(await everything(await silent.connect())).toBe("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
  await using kept = await startWorld({ limits: { ...usual, keepAliveMs: 1 } });
  const socket = await kept.connect();
  socket.write(plain);
  expect(await everything(socket)).toBe(answer.keeping);
});

test("idle connections are those that had an answer; closing all ends the others too", async () => {
  await using world = await startWorld();
  const [fresh, idle] = [await world.connect(), await world.connect()];
  idle.write(plain);
  await once(idle, "data");
  world.quick.closeIdle();
  await everything(idle);
  expect(world.sockets.map((socket) => socket.destroyed).toSorted()).toEqual([false, true]);
  world.quick.closeAll();
  await everything(fresh);
});

test("from a client that does not read nothing more is read, and it gets all once it does", async () => {
  const batch = 500;
  await using world = await startWorld({ limits: { ...usual, requests: 1e9 } });
  const socket = await world.connect();
  const [server] = world.sockets;
  let sent = 0;
  for (; sent < 1e6 && server?.isPaused() === false; sent += batch) {
    socket.write(plain.repeat(batch));
    while (server.bytesRead < (sent + batch) * plain.length) await once(server, "data");
  }
  expect(server?.writableLength).toBeLessThanOrEqual((server?.writableHighWaterMark ?? 0) + batch * answer.keeping.length);
  socket.end(plain.repeat(batch));
  expect(await everything(socket)).toBe(answer.keeping.repeat(sent + batch));
  expect(world.asked).toEqual([]);
});
