import { duplexPair } from "node:stream";
import { describe, expect, test } from "vitest";
import { u64 } from "../bytes/fields.ts";
import { extensionNames } from "../sftp/numbers.ts";
import { encodeRequest } from "../sftp/request.ts";
import { encodeResponse, encodeVersion } from "../sftp/response.ts";
import { listFolder, statPath } from "./sftp-calls.ts";
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
    ["a handle that each request would have to repeat", encodeResponse({ type: "handle", id: 0, handle: Buffer.alloc(257) })],
    ["a name list that lies", Buffer.from([0, 0, 0, 9, 104, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])],
  ])("ends the session with %s", async ([, packet]) => {
    const client = await clientOf(version, packet);
    await expect(client.ask({ type: "stat", path: Buffer.from("/") })).rejects.toMatchObject({
      code: "unavailable",
      message: /box does not speak SFTP/,
    });
    await expect(client.ask({ type: "stat", path: Buffer.from("/") })).rejects.toMatchObject({ code: "unavailable" });
  });

  test.for([
    [0n, 255 * 1024],
    [1n, 1_024],
    [32_768n, 32_768],
    [2n ** 64n - 1n, 255 * 1024],
  ] as const)("that states transfers of %d bytes is sent %d at a time", async ([stated, used]) => {
    const limits = encodeResponse({ type: "extended_reply", id: 0, data: Buffer.concat([u64(0), u64(stated), u64(stated), u64(0)]) });
    const client = await clientOf(encodeVersion(new Map([[extensionNames.limits, "1"]])), limits);
    expect(client.limits).toEqual({ read: used, write: used });
  });

  test("gives a reason of a few lines at most", async () => {
    const refusal = encodeResponse({ type: "status", id: 0, status: "failure", message: "x".repeat(100_000) });
    const client = await clientOf(version, refusal);
    await expect(statPath(client, Buffer.from("/"))).rejects.toMatchObject({ code: "conflict", message: "x".repeat(1_000) });
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
