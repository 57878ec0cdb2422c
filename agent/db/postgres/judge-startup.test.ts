import { expect, test } from "vitest";
import type { DatabaseNames } from "../engine.ts";
import type { StartupPacket } from "./first-packet.ts";
import { judgeStartup, startupFor } from "./judge-startup.ts";

type Pairs = readonly (readonly [name: string, value: string | Buffer])[];
const packet = (pairs: Pairs): StartupPacket => ({
  kind: "startup",
  minor: 2,
  parameters: pairs.map(([name, value]) => ({ name, value: Buffer.from(value) })),
});

test.for<[what: string, pairs: Pairs, asked: DatabaseNames, names: readonly [string, string]]>([
  [
    "both names",
    [
      ["user", "ann"],
      ["database", "shop"],
    ],
    {},
    ["ann", "shop"],
  ],
  ["no database: that of the user's name", [["user", "ann"]], {}, ["ann", "ann"]],
  [
    "an empty database",
    [
      ["user", "ann"],
      ["database", ""],
    ],
    {},
    ["ann", "ann"],
  ],
  ["no database, and the stream was opened for one", [["user", "ann"]], { name: "shop" }, ["ann", "shop"]],
  ["nothing at all", [], { user: "ann", name: "shop" }, ["ann", "shop"]],
  [
    "the same names again",
    [
      ["user", "ann"],
      ["database", "shop"],
    ],
    { user: "ann", name: "shop" },
    ["ann", "shop"],
  ],
  [
    "63 bytes",
    [
      ["user", "ä".repeat(31)],
      ["database", "x".repeat(63)],
    ],
    {},
    ["ä".repeat(31), "x".repeat(63)],
  ],
  [
    "replication that is off",
    [
      ["user", "ann"],
      ["replication", "OFF"],
    ],
    {},
    ["ann", "ann"],
  ],
])("%s", ([, pairs, asked, [user, name]]) => {
  expect(judgeStartup(packet(pairs), asked)).toEqual({ user, name });
});

test.for<[what: string, pairs: Pairs, asked: DatabaseNames, code: string]>([
  ["no user", [["database", "shop"]], {}, "denied"],
  ["an empty user", [["user", ""]], {}, "denied"],
  ["another user", [["user", "bob"]], { user: "ann" }, "denied"],
  [
    "another database",
    [
      ["user", "ann"],
      ["database", "hr"],
    ],
    { name: "shop" },
    "denied",
  ],
  [
    "two users",
    [
      ["user", "ann"],
      ["user", "root"],
    ],
    {},
    "invalid",
  ],
  [
    "two databases",
    [
      ["user", "ann"],
      ["database", "shop"],
      ["database", "hr"],
    ],
    {},
    "invalid",
  ],
  ["a user that is not UTF-8", [["user", Buffer.of(0xff)]], {}, "invalid"],
  ["a user that the server would cut", [["user", "x".repeat(64)]], {}, "denied"],
  [
    "a database that the server would cut",
    [
      ["user", "ann"],
      ["database", "ä".repeat(32)],
    ],
    {},
    "not_found",
  ],
])("%s is refused", ([, pairs, asked, code]) => {
  expect(() => judgeStartup(packet(pairs), asked)).toThrow(expect.objectContaining({ code }));
});

test.for<readonly [value: string, replication: "physical" | "logical" | undefined]>([
  ["true", "physical"],
  ["ON", "physical"],
  ["1", "physical"],
  ["tru", "physical"],
  ["DATABASE", "physical"],
  ["", "physical"],
  ["database", "logical"],
  ["false", undefined],
  ["Off", undefined],
  ["0", undefined],
])("replication=%s is %s replication", ([value, replication]) => {
  const pairs: Pairs = [
    ["user", "ann"],
    ["replication", value],
    ["application_name", "x".repeat(300)],
  ];
  expect(judgeStartup(packet(pairs), {})).toEqual({ user: "ann", name: "ann", userAgent: "x".repeat(256), ...(replication && { replication }) });
});

test("a physical replica may state any database, a logical one only that of its connection", () => {
  const pairs = (replication: string): Pairs => [
    ["user", "ann"],
    ["database", "replication"],
    ["replication", replication],
  ];
  expect(judgeStartup(packet(pairs("true")), { name: "shop" })).toMatchObject({ name: "replication", replication: "physical" });
  expect(() => judgeStartup(packet(pairs("database")), { name: "shop" })).toThrow(expect.objectContaining({ code: "denied" }));
});

test("the server gets the authorized names and all else as it came", () => {
  const pairs: Pairs = [
    ["database", "x"],
    ["_pq_.x", "1"],
    ["user", "y"],
    ["client_encoding", Buffer.of(0xe4)],
  ];
  expect(startupFor(packet(pairs), { user: "ann", name: "shop" })).toEqual({
    minor: 2,
    parameters: packet([
      ["user", "ann"],
      ["database", "shop"],
      ["_pq_.x", "1"],
      ["client_encoding", Buffer.of(0xe4)],
    ]).parameters,
  });
});

test("the settings of a session are stated with its names", () => {
  const own = packet([
    ["user", "ann"],
    ["role", "admin"],
    ["options", "-c search_path=evil"],
  ]);
  expect(judgeStartup(own, {})).toEqual({ user: "ann", name: "ann", settings: ["role=admin", "search_path=evil"] });
});
