import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type EndpointAnswer, readCriticalAnswer, readVersionAnswer } from "./endpoint-answer.ts";

const answer = (body: string, headers: Record<string, string> = {}, status = 200): EndpointAnswer => readVersionAnswer({ status, headers, body });
/** Any bytes, as a peer may send them. */
const bytes = fc.uint8Array({ maxLength: 60 }).map((raw) => Buffer.from(raw).toString("latin1"));
const version = { kind: "version", version: "1.2.3", critical: false };

describe("the answer to …/version", () => {
  test.for([
    ["v1.2.3", {}, version],
    ["1.2.3\n", {}, version],
    ["v1.2.3", { "platform-upgrade-held": "canary first" }, { ...version, held: "canary first" }],
    ["v1.2.3", { "platform-upgrade-held": " " }, { ...version, held: "the roll-out has not reached this host" }],
    ["v1.2.3", { "platform-upgrade-held": "\u001b[31mred" }, { ...version, held: "?[31mred" }],
    ["v1.2.3", { "platform-upgrade-stale": "90" }, { ...version, staleSeconds: 90 }],
    ["v1.2.3", { "platform-upgrade-stale": "soon" }, version],
    ["none", {}, { kind: "none" }],
    ["none\r\n", { "platform-upgrade-held": "paused" }, { kind: "none", held: "paused" }],
  ] as const)("%j with %o", ([body, headers, expected]) => {
    expect(answer(body, headers)).toEqual(expected);
  });

  test.for([
    ["<html><body>Please log in</body></html>", 200, "version_nonsense"],
    ["", 200, "version_nonsense"],
    ["None", 200, "version_nonsense"],
    ["v1.2", 200, "version_nonsense"],
    ["v1.2.3 v1.2.4", 200, "version_nonsense"],
    ["v1.2.3", 302, "version_nonsense"],
    ["v1.2.3", 204, "version_nonsense"],
    ["", 404, "version_nonsense"],
    ["", 403, "version_nonsense"],
    ["", 429, "endpoint_unreachable"],
    ["v1.2.3", 500, "endpoint_unreachable"],
    ["", 502, "endpoint_unreachable"],
  ] as const)("%j with status %d is not an answer: %s", ([body, status, reason]) => {
    expect(answer(body, {}, status)).toMatchObject({ kind: "failed", reason });
  });

  test("no answer throws, or passes an invalid version", () => {
    fc.assert(
      fc.property(bytes, fc.nat(600), bytes, (body, status, held) => {
        const read = answer(body, { "platform-upgrade-held": held, "platform-upgrade-stale": held }, status);
        if (read.kind === "version") expect(read.version).toMatch(/^\d+\.\d+\.\d+[0-9A-Za-z.+-]*$/);
        if (read.kind === "failed") expect(read.detail).toMatch(/^[\x20-\x7e]*$/);
      }),
    );
  });
});

test.for([
  ["yes", 200, true],
  ["yes\n", 200, true],
  ["no", 200, false],
  ["YES", 200, false],
  ["yes please", 200, false],
  ["yes", 404, false],
  ["", 200, false],
] as const)("the answer to …/critical: %j with status %d is %s", ([body, status, critical]) => {
  expect(readCriticalAnswer({ status, headers: {}, body })).toBe(critical);
});
