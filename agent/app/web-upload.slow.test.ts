import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectGarbage } from "../../core/memory/give-back.ts";
import { WebUpstream } from "./testing/web-upstream.ts";
import { textOf, WebWorld } from "./testing/web-world.ts";

let world: WebWorld;
beforeAll(async () => {
  world = await WebWorld.open();
});
afterAll(async () => await world[Symbol.asyncDispose]());

test("a long upload to an application that reads slowly waits at the client, and a long download at the application", async () => {
  const part = Buffer.alloc(1024 * 1024, "x");
  const count = 192;
  const hash = createHash("sha256");
  await using upstream = await WebUpstream.open((incoming, response) => {
    if (incoming.method === "GET") {
      const write = (left: number): void => {
        if (left === 0) return void response.end();
        if (response.write(part)) setImmediate(write, left - 1);
        else response.once("drain", () => write(left - 1));
      };
      return write(count);
    }
    incoming.on("data", (chunk: Buffer) => {
      hash.update(chunk);
      incoming.pause();
      setImmediate(() => incoming.resume());
    });
    incoming.on("end", () => response.end("done"));
  });
  // Without garbage, whose amount depends on what else has run in this process.
  const held = (): number => {
    collectGarbage(Number.POSITIVE_INFINITY);
    return process.memoryUsage().arrayBuffers;
  };
  const before = held();
  let most = 0;
  const look = (at: number): void => {
    if (at % 12 === 0) most = Math.max(most, held() - before);
  };
  const up = await world.enter({ spec: { uri: upstream.uri } });
  const sent = request({
    createConnection: () => up.tls,
    method: "PUT",
    headers: { host: "web.test", "content-length": String(part.length * count) },
  });
  const wanted = createHash("sha256");
  for (let at = 0; at < count; at += 1) {
    wanted.update(part);
    if (!sent.write(part)) await once(sent, "drain");
    look(at);
  }
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  expect(await textOf(response)).toBe("done");
  expect(hash.digest("hex")).toBe(wanted.digest("hex"));
  const down = await world.enter({ spec: { uri: upstream.uri } });
  const asked = request({ createConnection: () => down.tls, headers: { host: "web.test" } }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  let length = 0;
  let seen = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length >= seen * part.length) {
      look(seen);
      seen += 1;
    }
    await new Promise((resolve) => void setImmediate(resolve));
  }
  expect(length).toBe(part.length * count);
  expect(most).toBeLessThan(16 * 1024 * 1024);
});
