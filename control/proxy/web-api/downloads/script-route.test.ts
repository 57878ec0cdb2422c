import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fillScript } from "./script-route.ts";

const script = "#!/bin/sh\nset -eu\nPLATFORM_PROXY=''\nprintf %s \"$PLATFORM_PROXY\"\n";

test.for(["proxy.example.com:443", "[2001:db8::1]:3080", "it's", "$(touch /x)", "a\\b$&`", "'\"'"])("the script gets %s as it is", (proxy) => {
  const filled = fillScript(script, proxy);
  expect(execFileSync("sh", ["-c", filled], { encoding: "utf8" })).toBe(proxy);
});

test("whatever the address, the rest of the script stays as it is", () => {
  fc.assert(
    fc.property(fc.string(), (proxy) => {
      const filled = fillScript(script, proxy);
      const [head, tail] = ["#!/bin/sh\nset -eu\nPLATFORM_PROXY='", '\'\nprintf %s "$PLATFORM_PROXY"\n'];
      expect(filled.startsWith(head)).toBe(true);
      expect(filled.endsWith(tail)).toBe(true);
      expect(filled.slice(head.length, -tail.length).replaceAll("'\\''", "")).not.toContain("'");
    }),
  );
});

test("a script without the line is a fault of ours", () => {
  expect(() => fillScript("#!/bin/sh\n", "x")).toThrow(/PLATFORM_PROXY/);
});
