import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MarkReader } from "../../../../core/databases/redis/member-marks.ts";
import { someRuns } from "../../../../test/fuzz/some-runs.ts";
import { type ClusterMap, localMap, nodeLine } from "./cluster-maps.ts";
import { ClusterView } from "./cluster-view.ts";
import { encodeValue, type RespValue, readValue } from "./resp-value.ts";

const at = { host: "10.0.0.1", port: 6379 };

/** What a client reads: `tsh` gives the members the ports 40001, 40002 and so on, in the order in which they are named. */
function seen(map: ClusterMap, reply: string): { readonly text: string; readonly members: readonly string[] } {
  const view = new ClusterView(at);
  const reader = new MarkReader();
  const members: string[] = [];
  const pieces = reader.push(Buffer.concat([view.secret, localMap(map, Buffer.from(reply), view)]));
  const parts = pieces.map((piece) => {
    if (!("member" in piece)) return piece.bytes.toString();
    if (!members.includes(piece.member)) members.push(piece.member);
    return String(40_001 + members.indexOf(piece.member));
  });
  const text = parts.join("") + reader.rest().toString();
  // Lengths hold for what the client reads.
  readValue(Buffer.from(text));
  return { text, members };
}

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const list = (...items: readonly string[]): string => `*${items.length}\r\n${items.join("")}`;
const map = (...items: readonly string[]): string => `%${items.length / 2}\r\n${items.join("")}`;

describe("SLOTS", () => {
  test("members have local ports; names beside the host are left out", () => {
    const member = (host: string, port: number, names: string): string => list(bulk(host), `:${port}\r\n`, bulk("id"), names);
    const names = list(bulk("hostname"), bulk("db-1.internal"));
    const reply = list(
      list(":0\r\n", ":9\r\n", member("10.0.0.1", 6379, names), member("10.0.0.2", 6380, list())),
      list(":10\r\n", ":10\r\n", member("10.0.0.2", 6380, map())),
    );
    const local = (port: number, none: string): string => list(bulk("127.0.0.1"), `:${port}\r\n`, bulk("id"), none);
    expect(seen("slots", reply)).toEqual({
      text: list(list(":0\r\n", ":9\r\n", local(40_001, list()), local(40_002, list())), list(":10\r\n", ":10\r\n", local(40_002, "%0\r\n"))),
      members: ["10.0.0.1:6379", "10.0.0.2:6380"],
    });
  });

  test.for(["$-1\r\n", bulk(""), bulk("?"), "_\r\n"])("a host that is not stated (%j) is that of the server which was asked", (host) => {
    expect(seen("slots", list(list(":0\r\n", ":9\r\n", list(host, ":7000\r\n", bulk("id"))))).members).toEqual(["10.0.0.1:7000"]);
  });

  test("attributes of RESP3 are left out", () => {
    expect(seen("slots", `|1\r\n+ttl\r\n:1\r\n${list()}`).text).toBe(list());
  });
});

test.for([
  ["RESP2", list],
  ["RESP3", map],
] as const)("SHARDS in %s: the port for TLS is the member's, under its other name", ([, pairs]) => {
  const node = pairs(
    ...[bulk("id"), bulk("x"), bulk("port"), ":6379\r\n", bulk("tls-port"), ":6380\r\n", bulk("ip"), bulk("10.0.0.2")],
    ...[bulk("endpoint"), bulk("db-2"), bulk("hostname"), bulk("db-2"), bulk("role"), bulk("master"), bulk("health"), bulk("online")],
  );
  const local = pairs(
    ...[bulk("id"), bulk("x"), bulk("port"), ":40001\r\n", bulk("ip"), bulk("127.0.0.1"), bulk("endpoint"), bulk("127.0.0.1")],
    ...[bulk("role"), bulk("master"), bulk("health"), bulk("online")],
  );
  const shard = (one: string): string => list(pairs(bulk("slots"), list(":0\r\n", ":9\r\n"), bulk("nodes"), list(one)));
  expect(seen("shards", shard(node))).toEqual({ text: shard(local), members: ["db-2:6380"] });
});

describe("NODES", () => {
  const lines = [
    "07c3 10.0.0.2:30004@31004,db-2,shard-id=6921 slave e7d1 0 1426238317239 4 connected",
    "e7d1 :30001@31001,, myself,master - 0 0 1 connected 0-5460 [93-<-6ec2]",
    "6ec2 2001:db8::2:30002@31002 master - 0 1 2 connected",
    "292f 10.0.0.9:6379 master - 0 1 3 connected",
    "67ed :0@0 master,noaddr - 0 1 4 disconnected",
    "",
  ].join("\n");
  const local = [
    "07c3 127.0.0.1:40001@31004 slave e7d1 0 1426238317239 4 connected",
    "e7d1 127.0.0.1:40002@31001 myself,master - 0 0 1 connected 0-5460 [93-<-6ec2]",
    "6ec2 127.0.0.1:40003@31002 master - 0 1 2 connected",
    "292f 127.0.0.1:40004 master - 0 1 3 connected",
    "67ed :0@0 master,noaddr - 0 1 4 disconnected",
    "",
  ].join("\n");
  const members = ["10.0.0.2:30004", "10.0.0.1:30001", "[2001:db8::2]:30002", "10.0.0.9:6379"];

  test("lines have local ports, and their length is the client's", () => {
    expect(seen("nodes", bulk(lines))).toEqual({ text: bulk(local), members });
    const verbatim = (text: string): string => `=${text.length + 4}\r\ntxt:${text}\r\n`;
    expect(seen("nodes", verbatim(lines)).text).toBe(verbatim(local));
  });

  test("replicas are lines too", () => {
    const [line = "", ours = ""] = [lines.split("\n")[0], local.split("\n")[0]];
    expect(seen("replicas", list(bulk(line))).text).toBe(list(bulk(ours)));
  });

  test("a line is read in its parts", () => {
    expect(nodeLine(lines)).toMatchObject({ host: "10.0.0.2", port: "30004", bus: "@31004", hostname: "db-2", flags: ["slave"] });
    expect(nodeLine("no address")).toBeUndefined();
    expect(nodeLine(`${"x ".repeat(3)}${":1,".repeat(100_000)} `)).toBeUndefined();
  });
});

describe("a hostile cluster", () => {
  const view = (): ClusterView => new ClusterView(at);
  const code = (which: ClusterMap, reply: string): string => {
    try {
      localMap(which, Buffer.from(reply), view());
      return "none";
    } catch (thrown) {
      return String((thrown as { readonly code?: string }).code);
    }
  };

  test("10,000 members are refused", () => {
    const nodes = Array.from({ length: 10_000 }, (_, index) => `${index} 10.1.${index >> 8}.${index & 255}:6379@1 master -`).join("\n");
    expect(code("nodes", bulk(nodes))).toBe("limit");
  });

  test.for<[string, ClusterMap, string]>([
    ["a port that is none", "slots", list(list(":0\r\n", ":1\r\n", list(bulk("h"), ":65536\r\n")))],
    ["a host with a space", "slots", list(list(":0\r\n", ":1\r\n", list(bulk("h h"), ":1\r\n")))],
    ["a host too long", "slots", list(list(":0\r\n", ":1\r\n", list(bulk("h".repeat(256)), ":1\r\n")))],
    ["a member that is a text", "slots", list(list(":0\r\n", ":1\r\n", bulk("h")))],
    ["a member without a host", "slots", list(list(":0\r\n", ":1\r\n", list()))],
    ["lines that are a list", "nodes", list()],
    ["a text in place of a list", "shards", bulk("x")],
    ["a length that lies", "slots", "*1000000\r\n"],
    ["a text that is shorter than its length", "nodes", "$100\r\nx\r\n"],
    ["two replies", "slots", list() + list()],
    ["deep nesting", "slots", "*1\r\n".repeat(100)],
  ])("%s is refused", ([, which, reply]) => {
    expect(code(which, reply)).toBe("invalid");
  });

  test("any reply is read, or refused in words", () => {
    const bits = fc.constantFrom(
      "*1\r\n",
      "*2\r\n",
      "%1\r\n",
      "|1\r\n",
      "$1\r\nx\r\n",
      ":1\r\n",
      "$-1\r\n",
      "_\r\n",
      bulk("nodes"),
      bulk("a 1:2@3 b c"),
      bulk("port"),
    );
    const replies = fc.oneof(
      fc.array(bits, { maxLength: 12 }).map((all) => all.join("")),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
    );
    fc.assert(
      fc.property(fc.constantFrom("slots", "shards", "nodes", "replicas"), replies, (which, reply) => {
        expect(["none", "invalid", "limit"]).toContain(code(which, reply));
      }),
      { numRuns: someRuns(1_000) },
    );
  });
});

test("a value survives reading and encoding", () => {
  const { value } = fc.letrec<{ value: RespValue; list: RespValue; map: RespValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.record({ type: fc.constantFrom("$", "!", "="), bytes: fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)) }),
      fc.record({ type: fc.constantFrom("+", ":", "_", "-"), bytes: fc.constantFrom("", "1", "OK").map((text) => Buffer.from(text)) }),
      fc.record({ type: fc.constantFrom("$", "*"), bytes: fc.constant(undefined) }),
      tie("list"),
      tie("map"),
    ),
    list: fc.record({ type: fc.constantFrom("*", "~"), items: fc.array(tie("value"), { maxLength: 4 }) }),
    map: fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 3 }).map((pairs) => ({ type: "%", items: pairs.flat() })),
  }));
  fc.assert(fc.property(value, (one) => void expect(readValue(encodeValue(one))).toEqual(one)));
});
