import { expect, test } from "vitest";
import { hasComment } from "./has-comment.ts";

test.for([
  ["", false],
  ["kind: role\n", false],
  ["# why\nkind: role\n", true],
  ["spec:\n  logins: [root] # for now\n", true],
  ["  # indented\n", true],
  ["name: a#b\n", false],
  ['reason: "ticket # 7"\n', false],
  ["reason: 'it''s # 7'\n", false],
  ['reason: "a \\" # b" # c\n', true],
] as const)("%j has comments: %j", ([yaml, has]) => {
  expect(hasComment(yaml)).toBe(has);
});
