import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { turns } from "../../../test/inside/turns.ts";
import { postgresWordsAtLoss } from "./words-at-loss.ts";

const query = Buffer.from("510000000d73656c656374203100", "hex");
const goodbye = Buffer.from("5800000004", "hex");
const ready = Buffer.from("5a0000000549", "hex");

/** The words after these bytes of the server, for a client whose last bytes are `latest`. */
async function wordsAfter(bytes: Buffer, latest: Buffer): Promise<string | undefined> {
  const server = new PassThrough();
  const words = postgresWordsAtLoss({ client: new PassThrough(), server }, "the agent was lost");
  server.write(bytes);
  await turns();
  return words(latest)?.toString();
}

test("a client whose server is lost gets an error of PostgreSQL, between two messages", async () => {
  for (const latest of [Buffer.alloc(0), query, goodbye.subarray(0, 4), Buffer.concat([goodbye, query])])
    expect(await wordsAfter(ready, latest)).toContain("C08006");
  expect(await wordsAfter(ready.subarray(0, 4), query)).toBeUndefined();
});

test("a client that has said goodbye, and waits for the end, gets nothing", async () => {
  for (const latest of [goodbye, Buffer.concat([query, goodbye])]) expect(await wordsAfter(ready, latest)).toBeUndefined();
});
