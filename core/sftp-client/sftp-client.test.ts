import { duplexPair } from "node:stream";
import { describe, expect, test } from "vitest";
import { encodeRequest } from "../sftp/request.ts";
import { encodeResponse, encodeVersion } from "../sftp/response.ts";
import { listFolder } from "./sftp-calls.ts";
import { SftpClient } from "./sftp-client.ts";

/** A server that says what the test wants. */
async function clientOf(...packets: readonly Buffer[]): Promise<SftpClient> {
  const [near, far] = duplexPair();
  const waiting = [...packets];
  far.on("data", () => {
    const next = waiting.shift();
    if (next !== undefined) far.write(next);
  });
  return await SftpClient.open(near, "box");
}

const version = encodeVersion(new Map());
const handle = encodeResponse({ type: "handle", id: 0, handle: Buffer.of(1) });
const closed = encodeResponse({ type: "status", id: 2, status: "ok", message: "" });
const named = (name: string): Buffer =>
  encodeResponse({ type: "name", id: 1, files: [{ name: Buffer.from(name), longName: Buffer.from(name), attributes: {} }] });

describe("a server that cannot be trusted", () => {
  test.for(["../x", "a/b", "/etc/passwd", "", "a\0b"])("may not list the name %j", async (name) => {
    const client = await clientOf(version, handle, named(name), closed);
    await expect(listFolder(client, Buffer.from("/")).next()).rejects.toThrow(/an invalid file name/);
  });

  test.for<readonly [name: string, packet: Buffer]>([
    ["an answer that nobody asked for", encodeResponse({ type: "status", id: 99, status: "ok", message: "" })],
    ["a packet beyond all length", Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ["a request", encodeRequest({ type: "stat", id: 0, path: Buffer.from("/") })],
    ["a name list that lies", Buffer.from([0, 0, 0, 9, 104, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])],
  ])("ends the session with %s", async ([, packet]) => {
    const client = await clientOf(version, packet);
    await expect(client.ask({ type: "stat", path: Buffer.from("/") })).rejects.toMatchObject({
      code: "unavailable",
      message: /box does not speak SFTP/,
    });
    await expect(client.ask({ type: "stat", path: Buffer.from("/") })).rejects.toMatchObject({ code: "unavailable" });
  });

  test("ends with an error for all who wait when it goes away", async () => {
    const [near, far] = duplexPair();
    far.once("data", () => far.write(version));
    const client = await SftpClient.open(near, "box");
    const asked = [1, 2, 3].map(() => client.ask({ type: "stat", path: Buffer.from("/") }));
    far.end();
    for (const one of await Promise.allSettled(asked)) expect(one).toMatchObject({ reason: { code: "unavailable" } });
  });
});
