import { expect, test } from "vitest";
import { withKnownThreads } from "./known-threads.ts";
import { packet } from "./packet.ts";

const own = 3_000_000_000;
const asks: number[] = [];
const look = () =>
  withKnownThreads(async (number) => {
    asks.push(number);
    return number === own ? 42 : undefined;
  });
const query = (text: string, attributes = ""): Buffer => packet(0, Buffer.from(`\u0003${attributes}${text}`, "latin1"));
const kill = (number: number): Buffer => packet(0, Buffer.from([0x0c, number & 255, (number >>> 8) & 255, (number >>> 16) & 255, number >>> 24]));

test("a command that kills a connection goes on with the server's number of it", async () => {
  expect(await look()(query(`KILL QUERY ${own}`))).toEqual(query("KILL QUERY 42"));
  expect(await look()(query(`kill ${own};`, "\0\u0001"))).toEqual(query("kill 42;", "\0\u0001"));
  expect(await look()(kill(own))).toEqual(kill(42));
});

test("one whose number nobody knows goes on as it is", async () => {
  for (const bytes of [query("KILL QUERY 3000000001"), kill(3_000_000_001)]) expect(await look()(bytes)).toBe(bytes);
});

test("nothing else is held up, or asked about", () => {
  asks.splice(0);
  const killing = query(`KILL QUERY ${own}`);
  const others = [
    query("KILL QUERY 42"),
    kill(42),
    query(`select ${own}`),
    query(`KILL QUERY ${own}${" ".repeat(200)}`),
    packet(1, killing.subarray(4)),
    killing.subarray(0, -1),
    Buffer.concat([killing, killing]),
    packet(0, Buffer.alloc(0)),
    Buffer.of(1),
  ];
  for (const bytes of others) expect(look()(bytes)).toBeUndefined();
  // Within another command, whatever it looks like.
  const inside = look();
  const long = packet(0, Buffer.concat([Buffer.from("\u0003insert "), killing, killing]));
  expect(inside(long.subarray(0, 12))).toBeUndefined();
  expect(inside(long.subarray(12, 12 + killing.length))).toBeUndefined();
  expect(inside(long.subarray(12 + killing.length))).toBeUndefined();
  expect(inside(killing)).toBeInstanceOf(Promise);
  expect(asks).toEqual([own]);
});
