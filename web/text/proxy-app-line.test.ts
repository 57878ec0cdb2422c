import { expect, test } from "vitest";
import { proxyAppLine } from "./proxy-app-line.ts";

test.for<readonly [name: string, ports: string | undefined, line: string]>([
  ["orders", undefined, "tsh proxy app orders"],
  ["pg", "5432", "tsh proxy app pg --port=0:5432"],
  ["pg", "6000-6010,5432", "tsh proxy app pg --port=0:6000"],
  ["a b", "", "tsh proxy app 'a b'"],
])("%s with the ports %s is reached by %s", ([name, ports, line]) => {
  expect(proxyAppLine(name, ports)).toBe(line);
});
