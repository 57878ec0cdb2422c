import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseEnvironmentFile, readEnvironment, withProxyVariables } from "./proxy-environment.ts";

describe("parseEnvironmentFile", () => {
  test.for([
    ["HTTPS_PROXY=http://p.test:3128\n", "http://p.test:3128"],
    ['HTTPS_PROXY="http://p.test:3128"', "http://p.test:3128"],
    ["HTTPS_PROXY='http://a:b\\c@p.test'", "http://a:b\\c@p.test"],
    ['HTTPS_PROXY="a\\"b"', 'a"b'],
    ["  HTTPS_PROXY=x  \r\n", "x"],
    ["export HTTPS_PROXY=x", undefined],
    ["HTTPS_PROXY =x", "x"],
    ["HTTPS_PROXY= x", "x"],
    ["HTTPS_PROXY='a'\"b\"c", "abc"],
    ["HTTPS_PROXY='a\nb'", "a\nb"],
    ["HTTPS_PROXY='a' # b", "a# b"],
    ['HTTPS_PROXY="a\\nb\\$c"', "a\\nb$c"],
    ["HTTPS_PROXY=a\\b\\ ", "ab "],
    ["HTTPS_PROXY=x\nHTTPS_PROXY=y", "y"],
    ["# a \\\nHTTPS_PROXY=x", "x"],
    ["HTTPS_PROXY\n=x", undefined],
    ["HTTPS_PROXY=a \\\nb", "a b"],
    ["HTTPS_PROXY=", ""],
    ["HTTPS_PROXY=x # not a comment", "x # not a comment"],
    ["# HTTPS_PROXY=x", undefined],
    ["; HTTPS_PROXY=x", undefined],
    ["HTTPS_PROXY", undefined],
    ["1HTTPS_PROXY=x", undefined],
  ] as const)("%j", ([text, value]) => {
    expect(parseEnvironmentFile(text).get("HTTPS_PROXY")).toBe(value);
  });

  test("lines that systemd ignores are reported, with their number", () => {
    expect(readEnvironment('# a\nexport HTTPS_PROXY="http://p"\nA=1\n\nset -a\n2B=x\n').ignored).toEqual([
      { line: 2, name: "export HTTPS_PROXY" },
      { line: 5, name: "set -a" },
      { line: 6, name: "2B" },
    ]);
  });

  test("no text throws", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }).map((raw) => Buffer.from(raw).toString("latin1")),
        (text) => void parseEnvironmentFile(text),
      ),
    );
  });
});

describe("withProxyVariables", () => {
  const file = "HTTPS_PROXY=http://p.test:3128\nNO_PROXY=10.0.0.0/8\nSECRET=x\n";

  test("takes only the proxy from the agent's environment", () => {
    expect(withProxyVariables({ PATH: "/bin", HTTPS_PROXY: " " }, file)).toEqual({
      PATH: "/bin",
      HTTPS_PROXY: "http://p.test:3128",
      NO_PROXY: "10.0.0.0/8",
    });
  });

  test.for(["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"])("leaves an environment with %s alone", (name) => {
    expect(withProxyVariables({ [name]: "mine" }, file)).toEqual({ [name]: "mine" });
  });
});
