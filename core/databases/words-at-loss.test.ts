import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { turns } from "../../test/inside/turns.ts";
import { packet } from "./mysql/packet.ts";
import { wordsAtLoss } from "./words-at-loss.ts";

type Step = readonly ["client" | "server", Buffer];

/** The words after these bytes of both ends, in this order. */
async function wordsAfter(protocol: string, steps: readonly Step[], isLoggedIn = false): Promise<Buffer | undefined> {
  const ends = { client: new PassThrough(), server: new PassThrough(), isLoggedIn };
  const words = wordsAtLoss(protocol, ends, "the agent was lost");
  for (const [end, bytes] of steps) {
    ends[end].write(bytes);
    await turns();
  }
  return words?.(Buffer.alloc(0));
}

const greeting = packet(0, Buffer.from("\u000a8.0.99\0"));
const ok = packet(2, Buffer.of(0, 0, 0, 2, 0, 0, 0));
const query = packet(0, Buffer.from("\u0003select 1"));
const rows = [1, 2, 3].map((sequence) => packet(sequence, Buffer.from("\u0001a")));
const login: readonly Step[] = [
  ["server", greeting],
  ["client", packet(1, Buffer.alloc(40))],
];

test("MySQL: the words follow the last packet of either side by their number", async () => {
  const all: readonly (readonly [readonly Step[], number | undefined])[] = [
    [[["server", greeting]], 1],
    [login, 2],
    [[...login, ["server", ok]], 3],
    [[...login, ["server", ok], ["client", query]], 1],
    [[...login, ["server", ok], ["client", query], ["server", Buffer.concat(rows)]], 4],
    // Within a packet, behind the server's own last words, and after the client's goodbye.
    [[...login, ["server", ok], ["client", query], ["server", Buffer.concat(rows).subarray(0, -1)]], undefined],
    [[...login, ["server", ok], ["client", query], ["server", packet(1, Buffer.of(0xff, 0x1d, 4))]], undefined],
    [[...login, ["server", ok], ["client", query], ["server", packet(1, Buffer.of(0xff, 0x1d, 4))], ["client", query]], 1],
    [[...login, ["server", ok], ["client", packet(0, Buffer.of(1))]], undefined],
  ];
  for (const [steps, number] of all) {
    const words = await wordsAfter("mysql", steps);
    expect(words?.[3]).toBe(number);
    if (words !== undefined) expect(words.toString("latin1", 4)).toBe("\u00ff\u001d\u0004#08S01the agent was lost (connect again)");
  }
});

test("MySQL: in place of the greeting they have no SQLSTATE; after the login at another place they have one", async () => {
  expect((await wordsAfter("mysql", []))?.toString("latin1", 3)).toBe("\0\u00ff\u001d\u0004the agent was lost (connect again)");
  expect((await wordsAfter("mysql", [], true))?.toString("latin1", 3)).toBe("\0\u00ff\u001d\u0004#08S01the agent was lost (connect again)");
});

const get = Buffer.from("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
const reply = Buffer.from("*2\r\n$1\r\na\r\n:1\r\n");
const lost = "-ERR the agent was lost (connect again)\r\n";

test("Redis: the words come where a command has no reply yet, and nowhere else", async () => {
  const all: readonly (readonly [readonly Step[], string | undefined])[] = [
    [[], undefined],
    [[["client", get]], lost],
    [[["client", Buffer.from("PING\r\n")]], lost],
    [
      [
        ["client", get],
        ["server", reply],
      ],
      undefined,
    ],
    [
      [
        ["client", Buffer.concat([get, get, get])],
        ["server", reply],
        ["server", reply],
      ],
      lost,
    ],
    [
      [
        ["client", get],
        ["server", Buffer.from(">2\r\n+a\r\n+b\r\n")],
      ],
      lost,
    ],
    [
      [
        ["client", Buffer.concat([get, get])],
        ["server", reply.subarray(0, -1)],
      ],
      undefined,
    ],
    [
      [
        ["client", Buffer.concat([get, get])],
        ["server", Buffer.from("-ERR the server's own words\r\n")],
      ],
      undefined,
    ],
  ];
  for (const [steps, expected] of all) expect((await wordsAfter("redis", steps))?.toString()).toBe(expected);
});

const array = (line: string): Buffer => {
  const words = line.split(" ");
  return Buffer.from(`*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`);
};

test("Redis: there are no words after a command that has no reply, or from which on replies cannot be counted", async () => {
  const subscribed = Buffer.from(">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
  const all: readonly (readonly [string, Buffer | undefined])[] = [
    ["SHUTDOWN", undefined],
    ["shutdown\0x NOSAVE", undefined],
    ["SUBSCRIBE a", subscribed],
    ["CLIENT REPLY OFF", undefined],
    ["client reply SKIP", undefined],
    ["MONITOR", Buffer.from('+OK\r\n+1.5 [0 127.0.0.1:1] "GET" "k"\r\n')],
    ["SCRIPT DEBUG YES", Buffer.from("+OK\r\n")],
  ];
  for (const [line, answer] of all) {
    const answers: readonly Step[] = answer === undefined ? [] : [["server", answer]];
    for (const bytes of [array(line), Buffer.from(`${line.replace(/\0./, "")}\r\n`)]) {
      const byByte = Array.from(bytes, (byte): Step => ["client", Buffer.of(byte)]);
      for (const sent of [[["client", bytes]] as const, byByte]) {
        expect([line, await wordsAfter("redis", [...sent, ...answers])]).toEqual([line, undefined]);
        expect([line, await wordsAfter("redis", [...sent, ...answers, ["client", get]])]).toEqual([line, undefined]);
      }
    }
  }
});

test("Redis: other commands of these names are counted; an empty array is not, and a line with quotes could be any", async () => {
  for (const line of ["CLIENT INFO", "SCRIPT LOAD return", "SET shutdown reply", "PUBLISH subscribe a"])
    for (const bytes of [array(line), Buffer.from(`${line}\r\n`)])
      expect([line, String(await wordsAfter("redis", [["client", bytes]]))]).toEqual([line, lost]);
  for (const line of ["*0\r\n", " \r\n", '"SHUTDOWN"\r\n'])
    expect([line, await wordsAfter("redis", [["client", Buffer.from(line)]])]).toEqual([line, undefined]);
});

test("never a word within a message, wherever the server's bytes are cut", async () => {
  const streams = {
    mysql: { asked: query, parts: rows },
    redis: { asked: Buffer.concat([get, get, get, get]), parts: [reply, Buffer.from("$3\r\na\r\n\r\n"), Buffer.from("%1\r\n+a\r\n*1\r\n:1\r\n")] },
  };
  for (const [protocol, { asked, parts }] of Object.entries(streams)) {
    const bytes = Buffer.concat(parts);
    let end = 0;
    const ends = new Set([0, ...parts.map((part) => (end += part.length))]);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: bytes.length }), async (cut) => {
        const words = await wordsAfter(protocol, [
          ["client", asked],
          ["server", bytes.subarray(0, cut)],
        ]);
        expect(words !== undefined).toBe(ends.has(cut));
      }),
    );
  }
});

test("drivers of MongoDB, and clients of an unknown protocol, get none", async () => {
  for (const protocol of ["mongodb", ""]) expect(await wordsAfter(protocol, [["client", get]])).toBeUndefined();
});
