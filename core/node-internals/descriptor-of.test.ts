import { once } from "node:events";
import { fstatSync } from "node:fs";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { descriptorOf } from "./descriptor-of.ts";

test("a listening server has the descriptor of a socket", async () => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  expect(fstatSync(descriptorOf(server) ?? -1).isSocket()).toBe(true);
  server.close();
});

test("a server that does not listen has none", () => {
  expect(descriptorOf(createServer())).toBeUndefined();
});
