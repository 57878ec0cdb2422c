import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { usualListLimits as limits } from "../../../limits/list-room.ts";
import { connectionAgent } from "../../app-front/agent-requests.ts";
import { getJson } from "./get-json.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const end of ends.splice(0)) end();
});

/** The connections to an agent that answers these bytes; `answered` resolves once they are here. */
async function answering(answer: string) {
  const answered = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    ends.push(() => socket.destroy());
    socket
      .on("error", () => {})
      .once("data", () => {
        socket.write(answer);
        if (answer === "") answered.resolve();
      });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<Socket> => connect(port, "127.0.0.1").once("data", () => answered.resolve());
  const agent = connectionAgent({ maxConnections: 1, maxIdle: 1, idleMs: 60_000, connect: open });
  ends.push(() => {
    agent.destroy();
    server.close();
  });
  return { over: { agent, hold: () => {}, limits }, answered: answered.promise };
}

const question = { cluster: "prod", path: "/api/v1/pods" };

test.for([
  ["HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "unavailable"],
  ["HTTP/1.1 101 Switching Protocols\r\n\r\n", "unavailable"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{", "unavailable"],
] as const)("the answer %j is refused: %s", async ([answer, code]) => {
  const { over } = await answering(answer);
  await expect(getJson(over, question)).rejects.toMatchObject({ code });
});

test("an answer that changes the protocol is refused alike, with and without the fields of an upgrade", async () => {
  for (const fields of ["", "Connection: Upgrade\r\nUpgrade: x\r\n"]) {
    const { over } = await answering(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`);
    await expect(getJson(over, question)).rejects.toMatchObject({ cause: { message: "the agent changed the protocol of a request" } });
  }
});

test.for(["", "HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"])(
  "an agent that answers %j and then nothing takes no longer than the limit",
  async (answer) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { over, answered } = await answering(answer);
    const got = getJson(over, question);
    got.catch(() => {});
    await answered;
    await turn();
    vi.advanceTimersByTime(15_000);
    await expect(got).rejects.toMatchObject({ code: "timeout" });
  },
);

test("a connection that is not there in time is given up", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { promise: connecting, resolve } = Promise.withResolvers<void>();
  const connectLate = (): Promise<Socket> => {
    resolve();
    return new Promise(() => {});
  };
  const agent = connectionAgent({ maxConnections: 1, maxIdle: 1, idleMs: 60_000, connect: connectLate });
  const got = getJson({ agent, hold: () => {}, limits }, question);
  got.catch(() => {});
  await connecting;
  vi.advanceTimersByTime(15_000);
  await expect(got).rejects.toMatchObject({ code: "timeout" });
});
