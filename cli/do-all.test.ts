import { expect, test } from "vitest";
import { PlatformError } from "../core/errors/platform-error.ts";
import { doAll } from "./do-all.ts";

test("every step runs in its turn; the failures come together, the first one first", async () => {
  const done: string[] = [];
  const step = (name: string, thrown?: Error) => async (): Promise<void> => {
    done.push(name);
    if (thrown !== undefined) throw thrown;
  };
  await doAll([step("a"), step("b")]);
  const only = new PlatformError("timeout", "too slow", { hint: "wait" });
  await expect(doAll([step("c", only), step("d")])).rejects.toBe(only);
  const both = doAll([step("e", only), step("f"), step("g", new Error("a bug"))]);
  await expect(both).rejects.toMatchObject({ code: "timeout", message: "too slow; a bug", hint: "wait" });
  expect(done.join("")).toBe("abcdefg");
});
