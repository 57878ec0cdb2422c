import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import { ThreadNumbers } from "./thread-numbers.ts";
import { serveThreadStream } from "./thread-stream.ts";

const own = 3_000_000_000;
const threads = new ThreadNumbers();
threads.bind(threads.take(own), "shop 127.0.0.1:3306", 42);

async function asked(target: string, key: string, admit = true): Promise<string> {
  const stream = new PassThrough();
  const got: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => got.push(chunk));
  const request: StreamRequest<"cancel"> = { kind: "cancel", target, parameters: { key }, clientAddress: "", sessionId: "", accessRevision: "" };
  await serveThreadStream(stream, request, { threads, admit: () => admit });
  return Buffer.concat(got).toString("hex");
}

test("a proxy learns the server's number of a connection to this database, and of no other one", async () => {
  expect(await asked("shop", own.toString(16))).toBe("0000002a");
  expect(await asked("shop", (own + 1).toString(16))).toBe("");
  expect(await asked("sho", own.toString(16))).toBe("");
  expect(await asked("shop", own.toString(16), false)).toBe("");
  for (const key of ["", "42", "0000002a01020304", "zzzzzzzz"]) await expect(asked("shop", key)).rejects.toMatchObject({ code: "invalid" });
});
