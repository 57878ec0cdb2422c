import { once } from "node:events";
import { createServer } from "node:http";
import { connect, createServer as createTcpServer, type Server } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ListenSockets } from "./listen-sockets.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const address = { host: "127.0.0.1", port: 0 };

function greeter(word: string): Server {
  const server = createTcpServer((socket) => socket.end(word));
  servers.push(server);
  return server;
}

async function greeting(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  await once(socket, "close");
  return text;
}

test("a port chosen by the system is reported, and listeners are handed over with their name and descriptor", async () => {
  const sockets = new ListenSockets();
  const { port } = await sockets.listen(greeter("a"), { purpose: "web", ...address });
  expect(port).toBeGreaterThan(0);
  expect(await greeting(port)).toBe("a");
  expect(sockets.handOver()).toEqual([{ name: "web 127.0.0.1 0", fd: expect.any(Number), port }]);
});

test("an inherited socket keeps its port, and accepts nothing before the start", async () => {
  const first = new ListenSockets();
  const old = greeter("old");
  const { port } = await first.listen(old, { purpose: "web", ...address });
  const next = new ListenSockets(first.handOver(), true);
  const fresh = greeter("new");
  expect(await next.listen(fresh, { purpose: "web", ...address })).toEqual({ host: "127.0.0.1", port });
  expect(next.isStarted).toBe(false);
  expect(await greeting(port)).toBe("old");
  expect(fresh.listening).toBe(false);
});

test("an address in use is refused, also for a server that speaks HTTP", async () => {
  const sockets = new ListenSockets();
  const { port } = await sockets.listen(greeter("a"), { purpose: "web", ...address });
  await expect(sockets.listen(createServer(), { purpose: "diag", host: "127.0.0.1", port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect(sockets.handOver()).toHaveLength(1);
});

test("a closed server is no longer handed over", async () => {
  const sockets = new ListenSockets();
  const server = greeter("a");
  await sockets.listen(server, { purpose: "web", ...address });
  server.close();
  await once(server, "close");
  expect(sockets.handOver()).toEqual([]);
});
