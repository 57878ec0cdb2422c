import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { encodeCastEvent, encodeCastHeader } from "../../../core/recording/cast.ts";
import { encodeMember } from "../../../core/recording/member.ts";
import { encodeBegin, encodeEnd, encodeStatementsHeader } from "../../../core/recording/statements.ts";
import type { CliIo } from "../../io.ts";
import { memoryIo } from "../../memory-io.ts";
import { noOptions } from "../../no-options.ts";
import { play } from "./play.ts";
import { type PlayAsk, playRecording } from "./players.ts";

const cast = encodeCastHeader({ width: 80, height: 24, timestamp: 0 }) + encodeCastEvent({ time: 1, kind: "o", data: "\u001b[1mhi\u001b[0m\r\n" });
const file = encodeMember(Buffer.from(cast), 0);

const statements = [
  encodeStatementsHeader({ started: "2026-01-02T03:04:05Z", protocol: "postgres", database: "orders", account: "reader", name: "", platform: {} }),
  encodeBegin({ number: 1, time: 1, kind: "query", text: "select 1" }),
  encodeEnd({ number: 1, time: 1.5, outcome: "ok", rows: 1 }),
  encodeBegin({ number: 2, time: 2, kind: "query", text: "\u009b2J" }),
].join("");
const queries = { file: encodeMember(Buffer.from(statements), 0), format: "statements" };
const shown =
  "2026-01-02T03:04:05Z orders (postgres)\n0:01.000   #1 reader@orders> select 1\n           1 row (500 ms)\n" +
  "0:02.000   #2 reader@orders> \\x9b2J\n           #2: no answer in this recording\n";

async function printed(more: Partial<PlayAsk>): Promise<string> {
  const stdout = new PassThrough();
  const io: CliIo = { ...memoryIo(), stdout };
  await playRecording({ file, name: "one", format: undefined, wanted: undefined, show: { speed: 1, from: 0 }, ...more }, io);
  return await text(stdout.end());
}

test.for<[title: string, ask: Partial<PlayAsk>, expected: string]>([
  ["of no stated format as a terminal", {}, "\u001b[1mhi\u001b[0m\r\n"],
  ["of format asciicast as a terminal", { format: "asciicast", wanted: "pty" }, "\u001b[1mhi\u001b[0m\r\n"],
  ["in its own format", { wanted: "asciicast" }, cast],
  ["as text", { wanted: "text" }, "hi\n"],
  ["of statements as lines", queries, shown],
  ["of statements as text", { ...queries, wanted: "text" }, shown],
  ["of statements in its own format", { ...queries, wanted: "statements" }, statements],
  [
    "of statements as JSON",
    { ...queries, wanted: "json" },
    '{"number":1,"time":1,"kind":"query","text":"select 1","duration":0.5,"outcome":"ok","rows":1}\n{"number":2,"time":2,"kind":"query","text":"\\u009b2J"}\n',
  ],
  [
    "of statements as YAML",
    { ...queries, wanted: "yaml" },
    'number: 1\ntime: 1\nkind: query\ntext: select 1\nduration: 0.5\noutcome: ok\nrows: 1\n---\nnumber: 2\ntime: 2\nkind: query\ntext: "\\u009b2J"\n',
  ],
])("a recording is shown %s", async ([, ask, expected]) => {
  expect(await printed(ask)).toBe(expected);
});

test("a recording of statements is played on a terminal with its own ends of lines", async () => {
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const io: CliIo = { ...memoryIo(), stdout };
  await playRecording({ ...queries, name: "one", wanted: undefined, show: { speed: 16, from: 1 } }, io);
  expect(await text(stdout.end())).toBe(shown.replaceAll("\n", "\r\n"));
});

/** A terminal, or a file or pipe, whose every write fails. */
function failing(code: string, isTTY: boolean): CliIo {
  const failure = Object.assign(new Error(`${code}: write`), { code });
  const stdout = Object.assign(new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void setImmediate(done, failure) }), { isTTY });
  return { ...memoryIo(), stdout: stdout.on("error", () => {}) };
}

const ways: readonly (readonly [title: string, ask: Partial<PlayAsk>])[] = [
  ["played", {}],
  ["as text", { wanted: "text" }],
  ["as asciicast", { wanted: "asciicast" }],
  ["of statements, played", queries],
  ["of statements as JSON", { ...queries, wanted: "json" }],
];
const shownAt = ways.flatMap(([title, way]) =>
  [`${title}, on a terminal`, `${title}, in a pipe`].map((where, at) => [where, way, at === 0] as const),
);

test.for(shownAt)("a recording %s: a reader that left ends it silently, and a full disk in words", async ([, way, isTTY]) => {
  const ask = { file, name: "one", format: undefined, wanted: undefined, show: { speed: 16, from: 3 }, ...way };
  expect(await playRecording(ask, failing("EPIPE", isTTY))).toBe(0);
  await expect(playRecording(ask, failing("ENOSPC", isTTY))).rejects.toMatchObject({
    code: "unavailable",
    message: "could not write to standard output: ENOSPC: write",
  });
});

test.for([
  [undefined, 0],
  ["pty", 0],
  ["text", 2],
  ["asciicast", 2],
] as const)("a damaged recording that is printed as %s is a failure: status %d", async ([format, status]) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-play-"));
  const path = join(folder.path, "cut.cast");
  await writeFile(path, `${cast}[2, "o"`);
  const options = { ...noOptions, text: (name: string) => (name === "format" ? format : undefined) };
  const result = await play({ io: memoryIo(), args: [path], options });
  expect([result.status ?? 0, result.notes]).toEqual([status, ["the recording is damaged or cut at one place: the intact parts are shown"]]);
});

test.for<[ask: Partial<PlayAsk>, message: string]>([
  [{ format: "db-queries" }, 'one is a recording of format "db-queries", which this version of tsh cannot play'],
  [{ wanted: "json" }, "one is a recording of format asciicast, which cannot be printed as json"],
  [{ ...queries, wanted: "asciicast" }, "one is a recording of format statements, which cannot be printed as asciicast"],
  [{ wanted: "db-queries" }, "one is a recording of format asciicast, which cannot be printed as db-queries"],
])("%j is refused", async ([ask, message]) => {
  await expect(printed(ask)).rejects.toMatchObject({ code: "invalid", message });
});
