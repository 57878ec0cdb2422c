import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { askStatus } from "./open-agent-service.ts";

/** A unix socket that answers every connection with these bytes. */
async function answering(bytes: string, use: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "platform-status-"));
  const path = join(folder, "status-1.sock");
  const server: Server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(bytes));
  });
  try {
    server.listen(path);
    await once(server, "listening");
    await use(path);
  } finally {
    server.close();
    await rm(folder, { recursive: true });
  }
}

const answer = (status: string, body: string): string => `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

describe("asking the status socket", () => {
  test("gives the status", async () => {
    await answering(answer("200 OK", '{"pid":1,"version":"1.0.0"}'), async (path) => {
      expect(await askStatus(path)).toMatchObject({ pid: 1, version: "1.0.0" });
    });
  });

  test.for([
    ["an error", answer("500 Internal Server Error", '{"pid":1,"version":"1.0.0"}')],
    ["a long answer", answer("200 OK", `{"pid":1,"version":"1.0.0","x":"${"x".repeat(70_000)}"}`)],
    ["half an answer", 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"pid":1,'],
    ["an answer that is not HTTP", "hello\n"],
  ] as const)("gives nothing for %s", async ([, bytes]) => {
    await answering(bytes, async (path) => {
      expect(await askStatus(path)).toBeUndefined();
    });
  });

  test("gives nothing without a socket", async () => {
    expect(await askStatus("/nowhere/status-1.sock")).toBeUndefined();
  });
});
