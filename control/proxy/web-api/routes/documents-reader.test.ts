import fc from "fast-check";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { documentsReader, readYaml } from "./documents-reader.ts";

test("a document is read without its read-only part", () => {
  const text = "kind: user\nversion: v2\nmetadata:\n  name: ann\n  revision: r1\nspec:\n  roles: [access]\nstatus:\n  state: active\n";
  expect(readYaml(text)).toEqual({ kind: "user", version: "v2", metadata: { name: "ann", revision: "r1" }, spec: { roles: ["access"] } });
});

test.for<[text: string, message: RegExp]>([
  ["kind: role\nkind: user\n", /^the document is not YAML: .*line 2/],
  ["a: [", /^the document is not YAML: .*line 1/],
  ["", /malformed at the top/],
  ["kind: role\n", /malformed at metadata/],
  ["kind: role\nmetadata: {name: 5}\n", /malformed at metadata\.name/],
  [
    `a: &a [x]\n${Array.from({ length: 9 }, (_, at) => `b${at}: &b${at} [*${at === 0 ? "a" : `b${at - 1}`}, *${at === 0 ? "a" : `b${at - 1}`}]`).join("\n")}\n`,
    /not YAML|malformed/,
  ],
])("%j is refused with its place", ([text, message]) => {
  expect(() => readYaml(text)).toThrow(expect.objectContaining({ code: "invalid", message: expect.stringMatching(message) }));
});

test("any text is a resource or refused, and any resource comes back as it was shown", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        readYaml(text);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
  const value = fc.dictionary(
    fc.string({ minLength: 1 }).filter((key) => key !== "__proto__"),
    fc.oneof(fc.string(), fc.integer(), fc.boolean()),
  );
  fc.assert(
    fc.property(value, (spec) => {
      const document = { kind: "role", metadata: { name: "a" }, spec };
      expect(readYaml(stringify(document, { lineWidth: 0 }))).toEqual(document);
    }),
  );
});

test("texts of a user wait for each other; another user's is next", async () => {
  const read = documentsReader(() => 0).toStore;
  const done: string[] = [];
  const one = async (user: string) => {
    await read(user, "kind: role\nmetadata: {name: a}\n");
    done.push(user);
  };
  await Promise.all([...Array.from({ length: 5 }, () => one("eve")), one("ann")]);
  expect(done.indexOf("ann")).toBeLessThan(3);
  const refused = await Promise.allSettled(Array.from({ length: 40 }, () => read("eve", "")));
  expect(refused.filter(({ status, ...rest }) => status === "rejected" && "reason" in rest && rest.reason.code === "limit")).toHaveLength(7);
});

test("a user who sends long texts all the time is refused until time has passed, and no other user is", async () => {
  let time = 0;
  const read = documentsReader(() => time).toStore;
  const text = `kind: role\nmetadata: {name: a}\nspec: ${"x".repeat(199_000)}\n`;
  for (let sent = 0; sent < 5; sent += 1) await read("eve", text);
  await expect(read("eve", text)).rejects.toMatchObject({ code: "limit" });
  expect(await read("ann", text)).toMatchObject({ kind: "role" });
  time += 10_000;
  await read("eve", text);
});

test("previews leave room for a document that is stored, and have a pace of their own", async () => {
  const { toStore, toPreview } = documentsReader(() => 0);
  const text = `kind: role\nmetadata: {name: a}\nspec: ${"x".repeat(99_000)}\n`;
  for (let sent = 0; sent < 10; sent += 1) await toPreview("ann", text);
  await expect(toPreview("ann", text)).rejects.toMatchObject({ code: "limit" });
  expect(await toStore("ann", text)).toMatchObject({ kind: "role" });
});
