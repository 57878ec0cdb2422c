import { expect, test } from "vitest";
import { BoundedTexts } from "./bounded-texts.ts";

test("the oldest names are forgotten beyond 512, and beyond 256 Ki characters", () => {
  const texts = new BoundedTexts();
  for (let name = 0; name < 600; name += 1) texts.set(String(name), "x");
  expect([texts.get("87"), texts.get("88"), texts.get("599")]).toEqual([undefined, "x", "x"]);
  texts.set("long", "y".repeat(262_000));
  expect([texts.get("long")?.length, texts.get("599"), texts.get("450")]).toEqual([262_000, "x", undefined]);
  texts.set("too long", "z".repeat(300_000));
  expect(["long", "599", "too long"].map((name) => texts.get(name))).toEqual([undefined, undefined, undefined]);
});

test("a name that is set again, deleted or cleared leaves nothing behind", () => {
  const texts = new BoundedTexts();
  for (let round = 0; round < 10; round += 1) texts.set("a", "y".repeat(200_000));
  texts.set("b", "z".repeat(60_000));
  expect([texts.get("a")?.length, texts.get("b")?.length]).toEqual([200_000, 60_000]);
  texts.delete("a");
  texts.clear();
  expect(texts.get("b")).toBeUndefined();
});
