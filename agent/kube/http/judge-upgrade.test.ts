import { expect, test } from "vitest";
import { judgeUpgrade } from "./judge-upgrade.ts";

const judge = (origin: string): string => {
  const headers = [
    ["Upgrade", "websocket"],
    ["Origin", origin],
  ] as const;
  return judgeUpgrade({ headers, hosts: ["kube.test:443"], body: undefined });
};

test.each([
  ["the server's own page", "https://kube.test"],
  ["a program, whose library asks for some origin", "http://localhost"],
])("%s may open a stream", (_, origin) => {
  expect(judge(origin)).toBe("websocket");
});

test.each(["https://evil.test", "https://kube.test:8443", "http://localhost:8080", "https://localhost", "http://localhost.evil.test", "null"])(
  "a page of %s may open none",
  (origin) => {
    expect(() => judge(origin)).toThrow("a page of another site");
  },
);
