import fc from "fast-check";
import { expect, test } from "vitest";
import { readImpersonation } from "./impersonation.ts";

const groups = (...names: string[]): string[] => names.flatMap((name) => ["Impersonate-Group", name]);

test.for<[what: string, headers: readonly string[], wanted: object | undefined]>([
  ["nothing", ["Accept", "x"], { groups: [] }],
  ["a user", ["Impersonate-User", "dev"], { user: "dev", groups: [] }],
  ["an empty user, as clients send it with --as-group", ["Impersonate-User", "", ...groups("a")], { groups: ["a"] }],
  ["groups, once each", groups("a", "b", "a"), { groups: ["a", "b"] }],
  ["a name in other letters", ["iMPERSONATE-uSER", "dev"], { user: "dev", groups: [] }],
  ["a service account", ["Impersonate-User", "system:serviceaccount:a:b"], { user: "system:serviceaccount:a:b", groups: [] }],
  ["a group with a comma is one name, not two", groups("a, b"), { groups: ["a, b"] }],
  ["two users", ["Impersonate-User", "a", "Impersonate-User", "b"], undefined],
  ["the same user twice", ["Impersonate-User", "a", "impersonate-user", "a"], undefined],
  ["an empty user and a user", ["Impersonate-User", "", "Impersonate-User", "a"], undefined],
  ["a uid", ["Impersonate-Uid", "0"], undefined],
  ["an extra", ["Impersonate-Extra-Scopes", "x"], undefined],
  ["any other header of the kind", ["Impersonate-Other", "x"], undefined],
  ["the bare word", ["Impersonate", "x"], undefined],
  ["underscores", ["Impersonate_User", "system:admin"], undefined],
  ["an underscore in one place", ["Impersonate-Group", "a", "Impersonate_Group", "system:masters"], undefined],
  ["an empty group", groups(""), undefined],
  ["a group with a control character", groups("a\u0001"), undefined],
  ["a user outside of ASCII", ["Impersonate-User", "d\u00e9v"], undefined],
  ["a user that is too long", ["Impersonate-User", "x".repeat(300)], undefined],
  ["too many groups", groups(...Array.from({ length: 300 }, (_, index) => `g${index}`)), undefined],
  ["a connection that names it changes nothing", ["Connection", "Impersonate-User", "Impersonate-User", "dev"], { user: "dev", groups: [] }],
])("%s", ([, headers, wanted]) => {
  if (wanted === undefined) expect(() => readImpersonation(headers)).toThrow(expect.objectContaining({ code: "denied" }));
  else expect(readImpersonation(headers)).toEqual(wanted);
});

test("whatever the headers, the result has only what they say", () => {
  const name = fc.oneof(
    fc.constantFrom("Impersonate-User", "impersonate-group", "Impersonate_Group", "Impersonate-Extra-x", "Accept"),
    fc.string({ maxLength: 10 }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string({ maxLength: 6 })), { maxLength: 6 }), (fields) => {
      try {
        const { user, groups: found } = readImpersonation(fields.flat());
        const values = (wanted: string): string[] => fields.filter(([one]) => one.toLowerCase() === wanted).map(([, value]) => value);
        if (user !== undefined) expect(values("impersonate-user")).toEqual([user]);
        expect(found).toEqual([...new Set(values("impersonate-group"))]);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "denied" });
      }
    }),
  );
});
