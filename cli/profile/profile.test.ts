import { expect, test } from "vitest";
import { defaultLogin } from "./profile.ts";

test.for([
  [["root", "me"], "me", "me"],
  [["root", "ubuntu"], "me", "root"],
  [[], "me", "me"],
  [[], undefined, "root"],
] as const)("with the logins %j, %s logs in as %s", ([logins, local, expected]) => {
  expect(defaultLogin({ principals: { ssh: { login: logins } } }, local)).toBe(expected);
});
