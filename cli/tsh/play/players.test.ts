import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { encodeCastEvent, encodeCastHeader } from "../../../core/recording/cast.ts";
import { encodeMember } from "../../../core/recording/member.ts";
import type { CliIo } from "../../io.ts";
import { type PlayAsk, playRecording } from "./players.ts";

const cast = encodeCastHeader({ width: 80, height: 24, timestamp: 0 }) + encodeCastEvent({ time: 1, kind: "o", data: "\u001b[1mhi\u001b[0m\r\n" });
const file = encodeMember(Buffer.from(cast), 0);

async function printed(more: Partial<PlayAsk>): Promise<string> {
  const stdout = new PassThrough();
  const io = { stdout, stdin: new PassThrough() } as unknown as CliIo;
  await playRecording({ file, name: "one", format: undefined, wanted: undefined, show: { speed: 1, from: 0 }, ...more }, io);
  return await text(stdout.end());
}

test.for<[title: string, ask: Partial<PlayAsk>, expected: string]>([
  ["of no stated format as a terminal", {}, "\u001b[1mhi\u001b[0m\r\n"],
  ["of format asciicast as a terminal", { format: "asciicast", wanted: "pty" }, "\u001b[1mhi\u001b[0m\r\n"],
  ["in its own format", { wanted: "asciicast" }, cast],
  ["as text", { wanted: "text" }, "hi\n"],
])("a recording is shown %s", async ([, ask, expected]) => {
  expect(await printed(ask)).toBe(expected);
});

test.for<[ask: Partial<PlayAsk>, message: string]>([
  [{ format: "db-queries" }, 'one is a recording of format "db-queries", which this version of tsh cannot play'],
  [{ wanted: "db-queries" }, "one is a recording of format asciicast, which cannot be printed as db-queries"],
])("%j is refused", async ([ask, message]) => {
  await expect(printed(ask)).rejects.toMatchObject({ code: "invalid", message });
});
