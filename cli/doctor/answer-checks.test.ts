import fc from "fast-check";
import { expect, test } from "vitest";
import { readPing } from "./answer-checks.ts";

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
