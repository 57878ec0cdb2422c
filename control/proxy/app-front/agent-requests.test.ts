import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { agentRequest, connectionAgent } from "./agent-requests.ts";

/** Far below what the proxy uses. */
const idleMs = 60;
const server = createServer((request, response) => {
  if (request.url === "/events") response.write("first\n");
  else response.end();
  if (request.url === "/events") streams.push(response);
});
const streams: ServerResponse[] = [];
let port: number;

beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test("an event stream that is silent for longer than kept connections may be idle goes on, on its own connection", async () => {
  const opened: Socket[] = [];
  const agent = connectionAgent({
    ...{ maxIdle: 4, idleMs },
    connect: async () => {
      const socket = connect(port, "127.0.0.1");
      opened.push(socket);
      await once(socket, "connect");
      return socket;
    },
  });
  const get = async (path: string): Promise<IncomingMessage> => {
    const sent = agentRequest({ method: "GET", path, headers: ["Host", "app"], over: agent }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return response.setEncoding("utf8");
  };
  const events = await get("/events");
  expect(await once(events, "data")).toEqual(["first\n"]);
  // Three kept connections, one after the other, are closed for being idle meanwhile.
  for (let turn = 0; turn < 3; turn += 1) {
    const short = await get("/short");
    const used = opened.at(-1);
    short.resume();
    await once(used ?? short, "close");
  }
  expect(opened).toHaveLength(4);
  const next = once(events, "data");
  streams[0]?.write("second\n");
  expect(await next).toEqual(["second\n"]);
  streams[0]?.end();
  events.resume();
  await once(events, "end");
  agent.destroy();
});

test("a connection that is kept for the next request has the probes of all others, not Node's own", async () => {
  const probes = vi.spyOn(Socket.prototype, "setKeepAlive");
  const connected = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  const agent = connectionAgent({ maxIdle: 1, idleMs: 10_000, connect: connected });
  for (let turn = 0; turn < 2; turn += 1) {
    const kept = once(agent, "free");
    const sent = agentRequest({ method: "GET", path: "/short", headers: ["Host", "app"], over: agent }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.resume();
    const [socket] = await kept;
    const ofSocket = probes.mock.calls.filter((_, index) => probes.mock.contexts[index] === socket);
    // Set once: each change is four calls of the kernel.
    expect(ofSocket).toEqual([[true, 30_000, 5_000, 6]]);
  }
  probes.mockRestore();
  agent.destroy();
});
