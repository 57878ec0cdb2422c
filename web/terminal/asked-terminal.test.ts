import { expect, test } from "vitest";
import { askedTerminal, endText, hostQuery, linkAddress, titleText } from "./asked-terminal.ts";

test.for([
  ["node=n1&login=root", { type: "open", node: "n1", login: "root" }],
  ["session=s1", { type: "join", session: "s1", mode: "observer" }],
  ["session=s1&mode=peer&node=n1", { type: "join", session: "s1", mode: "peer" }],
  ["session=s1&mode=owner", { type: "join", session: "s1", mode: "observer" }],
  ["node=n1", undefined],
  ["cluster=prod&namespace=shop&pod=web-1", { type: "pod", cluster: "prod", namespace: "shop", pod: "web-1", container: "", command: [] }],
  [
    "cluster=prod&namespace=shop&pod=web-1&container=app&command=sh+-c+'ls+-l'",
    { type: "pod", cluster: "prod", namespace: "shop", pod: "web-1", container: "app", command: ["sh", "-c", "ls -l"] },
  ],
  ["cluster=prod&pod=web-1", undefined],
  ["", undefined],
] as const)("%s asks for %o", ([query, wish]) => {
  expect(askedTerminal(new URLSearchParams(query))).toEqual(wish);
});

test.for([
  ["", []],
  ["+%09", []],
  ["id", ["id"]],
  ["''", [""]],
  ["'open", ["'open"]],
] as const)("the command of a pod's address, %j, is %j", ([text, command]) => {
  const query = new URLSearchParams(`cluster=prod&namespace=shop&pod=web-1&command=${text}`);
  expect(askedTerminal(query)).toMatchObject({ command });
});

test.for([
  ["web-1", 'id == "web-1" || name == "web-1"'],
  ['a" || name != "\\', String.raw`id == "a\" || name != \"\\" || name == "a\" || name != \"\\"`],
] as const)("the host %j is found by %s", ([node, query]) => {
  expect(hostQuery(node)).toBe(query);
});

test.for([
  ["https://example.com/a?b", "https://example.com/a?b"],
  ["http://example.com", "http://example.com/"],
  ["javascript:alert(1)", undefined],
  [" javascript:alert(1)", undefined],
  ["JaVaScRiPt:alert(1)", undefined],
  ["data:text/html,<script>alert(1)</script>", undefined],
  ["blob:https://example.com/x", undefined],
  ["file:///etc/passwd", undefined],
  ["//example.com", undefined],
  [`https://example.com/${"a".repeat(2048)}`, undefined],
] as const)("the link %s leads to %s", ([text, address]) => {
  expect(linkAddress(text)).toBe(address);
});

test("a title is one short line of text", () => {
  expect(titleText("vim\u0007 notes\u202e.txt\n")).toBe("vim notes .txt");
  expect(titleText("a".repeat(500))).toHaveLength(80);
});

test.for([
  [{ status: 0 }, "The session ended."],
  [{ status: 7 }, "The session ended with status 7."],
  [{ reason: "the connection to web-1 was lost" }, "The session ended: the connection to web-1 was lost."],
] as const)("%o is %s", ([end, text]) => {
  expect(endText(end)).toBe(text);
});
