import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import { bearerOf, formatCredential, newSessionCredential, parseCredential } from "./session-credential.ts";

test("a credential is read as it was written", () => {
  const credential = newSessionCredential();
  expect(parseCredential(formatCredential(credential))).toEqual(credential);
});

test("nothing but a credential is read as one", () => {
  const { id, secret } = newSessionCredential();
  const near = [
    "",
    ".",
    id,
    `${id}.`,
    `.${secret}`,
    `${id}.${secret}.`,
    `${id}.${secret}.x`,
    `${id} .${secret}`,
    `${id}.${secret}\n`,
    `${id.toUpperCase()}.${secret}`,
  ];
  for (const text of near) expect(parseCredential(text)).toBeUndefined();
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((rest) => `${id}.${rest}`),
      ),
      (text) => {
        const parsed = parseCredential(text);
        if (parsed !== undefined) expect(formatCredential(parsed)).toBe(text);
      },
    ),
    { numRuns: someRuns(25) },
  );
});

test("the token follows from the whole credential", () => {
  const [one, two] = [newSessionCredential(), newSessionCredential()];
  const tokens = [one, two, { ...one, id: two.id }, { ...one, secret: two.secret }].map(bearerOf);
  expect(new Set(tokens).size).toBe(4);
  expect(tokens[0]).not.toContain(one.secret);
  expect(bearerOf({ ...one })).toBe(tokens[0]);
});
