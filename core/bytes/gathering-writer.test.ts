import { expect, test } from "vitest";
import { GatheringWriter } from "./gathering-writer.ts";

test("the first piece leaves at once; what comes while it is under way is the next one, and nothing is lost", () => {
  const pieces: string[] = [];
  const taken: (() => void)[] = [];
  const writer = new GatheringWriter((bytes, done) => {
    pieces.push(bytes.toString());
    taken.push(done);
  });
  for (const text of ["a", "b", "c"]) writer.add(Buffer.from(text));
  expect([pieces, writer.length]).toEqual([["a"], 3]);
  taken.shift()?.();
  writer.add(Buffer.from("d"));
  expect([pieces, writer.length]).toEqual([["a", "bc"], 3]);
  writer.flush();
  writer.flush();
  expect(pieces).toEqual(["a", "bc", "d"]);
  for (const done of taken.splice(0)) done();
  expect([pieces.length, writer.length]).toEqual([3, 0]);
});

test("a connection that takes everything at once gets each piece as it is", () => {
  const pieces: Buffer[] = [];
  const writer = new GatheringWriter((bytes, done) => {
    pieces.push(bytes);
    done();
  });
  const given = ["one", "two"].map((text) => Buffer.from(text));
  for (const piece of given) writer.add(piece);
  expect(pieces).toEqual(given);
});
