import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { parseJson, parseJsonAs } from "./parse-json.ts";

const schema = z.object({ secret: z.string(), list: z.array(z.object({ port: z.int() })) });

test("written JSON is read back", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(parseJson(text, "it"))).toBe(text);
    }),
  );
  const value = { secret: "s", list: [{ port: 1 }] };
  expect(parseJsonAs(schema, JSON.stringify(value), "the file")).toEqual(value);
});

test.for<[text: string, message: string]>([
  ["", "the file is not JSON"],
  ['{"secret":"hunter2"', "the file is not JSON"],
  ["null", "the file is malformed at the top"],
  ['{"secret":"hunter2"}', "the file is malformed at list"],
  ['{"secret":"hunter2","list":[{"port":1},{"port":"hunter2"}]}', "the file is malformed at list.1.port"],
])("%s: %s", ([text, message]) => {
  expect(() => parseJsonAs(schema, text, "the file")).toThrow(new PlatformError("invalid", message));
});

test("any text matches the schema, or is refused as invalid", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        expect(schema.parse(parseJsonAs(schema, text, "it"))).toBeDefined();
      } catch (thrown) {
        expect(thrown).toMatchObject({ name: "PlatformError", code: "invalid" });
      }
    }),
  );
});
