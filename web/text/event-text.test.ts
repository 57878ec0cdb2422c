import fc from "fast-check";
import { expect, test } from "vitest";
import { eventDetails, eventField, eventsCsv, shortActor } from "./event-text.ts";

const event = {
  time: "2026-11-23T13:05:09Z",
  event: "session.start",
  code: "T2000I",
  user: "ann",
  server_id: "7e55",
  server_name: "web-1",
  login: "root",
  "addr.remote": "10.0.0.1:5555",
  empty: "",
  count: 3,
};

test("the facts of an event are in one line, the important ones first", () => {
  expect(eventDetails(event)).toBe("login=root server_name=web-1 addr.remote=10.0.0.1:5555 count=3");
  expect(eventDetails({ command: "x".repeat(100) })).toBe(`command=${"x".repeat(59)}…`);
});

test("a field that is not a text is empty", () => {
  expect([eventField(event, "user"), eventField(event, "count"), eventField(event, "nothing")]).toEqual(["ann", "", ""]);
});

test("a host that acts is shown by eight digits, a user by the whole name", () => {
  expect(shortActor("auth:e880b4fa-0d6f-4f0e-8f39-5f4b3e6a9d11")).toBe("auth:e880b4fa");
  expect(shortActor("auth:e880b4fa")).toBe("auth:e880b4fa");
  expect(shortActor("ann")).toBe("ann");
});

test("a value that a spreadsheet would run is a text there", () => {
  const [, line] = eventsCsv([{ event: "x", user: '=HYPERLINK("http://evil.test")', time: "t" }]).split("\r\n");
  expect(line).toBe(`t,x,,"'=HYPERLINK(""http://evil.test"")",`);
});

test("a formula that begins where another separator would end a cell is a text, too", () => {
  const [, line] = eventsCsv([{ event: "x", command: "x;=cmd|'/C calc'!A0\n@SUM(1)\t=1" }]).split("\r\n");
  expect(line).toBe(`,x,,,"command=x;'=cmd|'/C calc'!A0\n'@SUM(1)\t'=1"`);
});

test("values are whole, however long they are", () => {
  const command = "x".repeat(500);
  expect(eventsCsv([{ command }])).toMatch(new RegExp(`,command=${command}$`));
});

test("every value is in its cell, whatever it holds", () => {
  fc.assert(
    fc.property(fc.string(), (user) => {
      const text = eventsCsv([{ time: "t", event: "e", code: "c", user }]);
      const cells = text.slice(text.indexOf("\r\n") + 2).match(/("(?:[^"]|"")*"|[^,]*),?/g);
      const cell = (cells?.[3] ?? "").replace(/,$/, "");
      const read = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
      expect(read.replaceAll("'", "")).toBe(user.replaceAll("'", ""));
    }),
  );
});
