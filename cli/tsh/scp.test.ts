import { expect, test } from "vitest";
import { parseScpPlace, planScp } from "./scp.ts";

test.for<readonly [text: string, expected: unknown]>([
  ["a", { path: "a" }],
  ["./a:b", { path: "./a:b" }],
  ["/x/a:b", { path: "/x/a:b" }],
  [":a", { path: ":a" }],
  ["web-1:", { remote: { host: "web-1", login: undefined }, path: "" }],
  ["root@web-1:/etc/a:b", { remote: { host: "web-1", login: "root" }, path: "/etc/a:b" }],
  ["a@b@web-1:x", { remote: { host: "web-1", login: "a@b" }, path: "x" }],
])("%j", ([text, expected]) => {
  expect(parseScpPlace(text)).toEqual(expected);
});

test("plans say who copies what from where to where", () => {
  expect(planScp(["a", "b", "root@h:x"])).toEqual({ direction: "up", host: "h", login: "root", sources: ["a", "b"], target: "x" });
  expect(planScp(["h:a", "h:b", "x"])).toEqual({ direction: "down", host: "h", login: undefined, sources: ["a", "b"], target: "x" });
});

test.for([
  [["a"]],
  [["a", "b"]],
  [["h:a", "g:b", "x"]],
  [["h:a", "root@h:b", "x"]],
  [["h:a", "b", "x"]],
  [["h:a", "g:x"]],
  [["a", "h:a", "g:x"]],
  [["-x@:a", "b"]],
])("%j is refused", ([words]) => {
  expect(() => planScp(words as string[])).toThrow(expect.objectContaining({ code: "invalid" }));
});
