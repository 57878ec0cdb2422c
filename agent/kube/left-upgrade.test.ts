import { once } from "node:events";
import { expect, test } from "vitest";
import { apiWorldOfFile } from "./testing/api-world.ts";
import { enterSeen, nextUpgrade, podPath, spdyHead, spdyRequest } from "./testing/upgrade-client.ts";

const world = await apiWorldOfFile();

const shell = `${podPath}/exec?command=sh&stdin=true&stdout=true&tty=true`;

test("a client that leaves while its session begins leaves nothing behind", async () => {
  const asked = Promise.withResolvers<() => void>();
  world.onRequest = (_request, response) => asked.resolve(() => void response.end("{}"));
  const upgraded = nextUpgrade(world, spdyHead);
  const { tls, events, deps, served } = await enterSeen(world);
  tls.write(spdyRequest(shell));
  const { seen: server } = await upgraded;
  const answerPod = await asked.promise;
  tls.destroy();
  await served;
  answerPod();
  await server.ended;
  await expect.poll(() => events).toMatchObject([{ event: "kube.request", response_code: 499 }]);
  expect(deps.live.list()).toEqual([]);
});

test("an API server that leaves while a session begins leaves no client that waits", async () => {
  const asked = Promise.withResolvers<() => void>();
  world.onRequest = (_request, response) => asked.resolve(() => void response.end("{}"));
  const upgraded = nextUpgrade(world, spdyHead);
  const { tls, seen, events, served } = await enterSeen(world);
  tls.write(spdyRequest(shell));
  const { socket } = await upgraded;
  const answerPod = await asked.promise;
  socket.destroy();
  await once(socket, "close");
  answerPod();
  await Promise.all([seen.ended, served]);
  await expect.poll(() => events.map(({ event }) => event)).toContain("session.end");
});
