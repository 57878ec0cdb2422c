import fc from "fast-check";
import { expect, test } from "vitest";
import { judgeClock, judgeVersion, readPing } from "./answer-checks.ts";

test("a proxy's answer is read", () => {
  const text = JSON.stringify({ server_version: "1.2.3", min_client_version: "0.0.0", cluster_name: "example.com", more: 1 });
  expect(readPing(text)).toEqual({ server: "1.2.3", minClient: "0.0.0", cluster: "example.com" });
});

test.for([
  [""],
  ["<html>"],
  ["null"],
  ["[]"],
  ['"1.0.0"'],
  ['{"server_version":1}'],
  ['{"server_version":"1.0.0","min_client_version":"0.0.0"}'],
  [JSON.stringify({ server_version: "1.0.0", min_client_version: "0.0.0", cluster_name: "x".repeat(301) })],
])("%j is not a proxy's answer", ([text]) => {
  expect(readPing(text as string)).toBeUndefined();
});

test("any text is read or is none", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void readPing(text)));
});

test.for<readonly [own: string, server: string, minClient: string, outcome: "ok" | "warning" | "unsupported"]>([
  ["1.2.3", "1.0.0", "0.0.0", "ok"],
  ["1.2.3", "2.0.0", "1.0.0", "ok"],
  ["1.2.3", "3.0.0", "2.0.0", "unsupported"],
  ["2.0.0", "1.9.9", "0.0.0", "warning"],
  ["1.0.0-source", "1.0.0", "0.0.0", "ok"],
  ["1.0.0", "a page", "", "warning"],
])("%s with a proxy of %s that takes %s and later: %s", ([own, server, minClient, outcome]) => {
  const judge = () => judgeVersion(own, { server, minClient });
  if (outcome === "unsupported") expect(judge).toThrow(expect.objectContaining({ code: "unsupported", message: expect.stringContaining(minClient) }));
  else expect(judge().warning === undefined ? "ok" : "warning").toBe(outcome);
});

const at = Date.parse("2026-03-01T12:00:00Z");
const header = (ms: number): string => new Date(ms).toUTCString();

test.for<readonly [why: string, offset: number, says: RegExp]>([
  ["as it is", 0, /^this machine's clock agrees with the proxy's$/],
  ["within the second that a header cannot tell", 900, /^this machine's clock agrees with the proxy's$/],
  ["a little behind", 10_000, /^this machine's clock is 10 s behind the proxy's$/],
  ["a little ahead", -10_000, /^this machine's clock is 9 s ahead of the proxy's$/],
])("a clock that is %s works", ([, offset, says]) => {
  const said = judgeClock(header(at + offset), { asked: at, answered: at });
  expect(said.says).toMatch(says);
  expect(said.warning).toBeUndefined();
});

test.for<readonly [offset: number, says: string]>([
  [30_000, "30 s behind"],
  [-31_000, "30 s ahead of"],
])("a clock that is off by %d ms works, and is to be set", ([offset, says]) => {
  const said = judgeClock(header(at + offset), { asked: at, answered: at });
  expect(said.says).toContain(says);
  expect(said.warning).toContain("timedatectl");
});

test.for<readonly [offset: number, says: string]>([
  [60_000, "60 s behind"],
  [-3_601_000, "60 min ahead of"],
  [86_400_000, "24 h behind"],
  [-86_400_000 * 30, "30 days ahead of"],
])("a clock that is off by %d ms is a failure", ([offset, says]) => {
  expect(() => judgeClock(header(at + offset), { asked: at, answered: at })).toThrow(
    expect.objectContaining({ code: "invalid", message: expect.stringContaining(says) }),
  );
});

test("an answer that took long blames nobody for the time that it took", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 0, max: 60_000 }), (there, back) => {
      const said = judgeClock(header(at + there), { asked: at, answered: at + there + back });
      expect(said.says).toBe("this machine's clock agrees with the proxy's");
    }),
  );
});

test.for([[undefined], [""], ["yesterday"]])("the header %j says nothing", ([text]) => {
  expect(judgeClock(text, { asked: at, answered: at }).says).toBe("the proxy does not report its time");
});
