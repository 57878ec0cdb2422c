import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { webAddress } from "../../../test/fuzz/web-address.ts";
import { ownPath } from "./app-path.ts";

const host = "app.proxy.test";

test.for([
  ["/a?x=1#y", "/a?x=1#y"],
  ["/", "/"],
  ["/a/../b", "/b"],
  ["/?next=https://evil.test", "/?next=https://evil.test"],
  ["//evil.test", "/"],
  ["/\\evil.test", "/"],
  ["\\\\evil", "/"],
  ["https://evil.test", "/"],
  ["https:evil.test", "/"],
  ["javascript:alert(1)", "/"],
  ["/\t/evil.test", "/"],
  ["/\n/evil.test", "/"],
  ["/.//evil.test", "/"],
  ["/a/..//evil.test", "/"],
  ["/%2e//evil.test", "/"],
  ["/x-platform-auth", "/"],
  ["/X-Platform-logout", "/"],
  ["/a/../x-platform-logout", "/"],
  ["evil", "/"],
  ["", "/"],
  [`/${"a".repeat(4_096)}`, "/"],
  ["/\u2028", "/"],
] as const)("%j leads to %j", ([text, path]) => {
  expect(ownPath(text, host)).toBe(path);
});

test("nothing leads to another host", () => {
  const hostile = fc.array(
    fc.constantFrom("/", "\\", "..", ".", "%2e", "%2f", "%5c", "evil.test", "@", ":", "https:", "\t", "\n", "?", "#", "a", "x-platform-auth"),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        hostile.map((parts) => parts.join("")),
        fc.string(),
        webAddress,
      ),
      (text) => {
        const path = ownPath(text, host);
        const reached = new URL(path, `https://${host}/deep/er?q`);
        expect(reached.origin).toBe(`https://${host}`);
        expect(path).toMatch(/^\/(?!\/)/);
        expect(reached.pathname.toLowerCase()).not.toMatch(/^\/x-platform-/);
      },
    ),
    { numRuns: someRuns(500) },
  );
});
