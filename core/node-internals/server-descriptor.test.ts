import { once } from "node:events";
import { fstatSync } from "node:fs";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { serverDescriptor } from "./server-descriptor.ts";

test("a listening server has the descriptor of a socket", async () => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  expect(fstatSync(serverDescriptor(server)).isSocket()).toBe(true);
  server.close();
});

test("a server that does not listen has none", () => {
  expect(() => serverDescriptor(createServer())).toThrow("no file descriptor");
});
