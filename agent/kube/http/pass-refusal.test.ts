import { duplexPair, PassThrough, type Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { passRefusal } from "./pass-refusal.ts";

function refusal(body: Readable, status = 403) {
  return { status, message: "", headers: [["Content-Length", "20"]] as const, body, hasBody: true, trailers: () => [], isBroken: () => false };
}

const never = new AbortController().signal;
const life = { signal: never, onStatus: () => {}, limitMs: 50 };

test("a refusal whose body never ends is cut, and the client's connection ends", async () => {
  const [client, socket] = duplexPair();
  const body = new PassThrough();
  body.write("no");
  const [error, seen] = await Promise.all([passRefusal(refusal(body), socket, life), buffer(client)]);
  expect(error).toMatchObject({ code: "unavailable" });
  expect(seen.toString()).toMatch(/^HTTP\/1\.1 403 Forbidden\r\nContent-Length: 20\r\nConnection: close\r\n\r\nno$/);
  expect([body.destroyed, socket.destroyed]).toEqual([true, true]);
});

test("a client that does not read it holds up nothing", async () => {
  const [, socket] = duplexPair();
  const body = new PassThrough();
  const more = (): void => {
    while (!body.destroyed && body.write(Buffer.alloc(16_384)));
  };
  body.on("drain", more);
  more();
  await passRefusal(refusal(body), socket, life);
  expect([body.destroyed, socket.writableEnded]).toEqual([true, true]);
  socket.destroy();
});

test("a redirect is refused before anything is sent", async () => {
  const [client, socket] = duplexPair();
  const body = new PassThrough();
  await expect(passRefusal(refusal(body, 302), socket, life)).rejects.toMatchObject({ code: "unavailable" });
  expect([body.destroyed, client.readableLength]).toEqual([true, 0]);
});
