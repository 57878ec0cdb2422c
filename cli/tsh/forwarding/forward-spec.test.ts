import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { parseDynamic, parseForward } from "./forward-spec.ts";

const local = (port: number, host = "localhost") => ({ host, port });

test.for([
  ["8080:db:5432", { listen: local(8080), connect: local(5432, "db") }],
  ["127.0.0.2:8080:db:5432", { listen: local(8080, "127.0.0.2"), connect: local(5432, "db") }],
  ["*:8080:db:5432", { listen: local(8080, ""), connect: local(5432, "db") }],
  [":8080:db:5432", { listen: local(8080, ""), connect: local(5432, "db") }],
  ["[::1]:8080:[fe80::1]:5432", { listen: local(8080, "::1"), connect: local(5432, "fe80::1") }],
  ["8080:[2001:db8::1]:22", { listen: local(8080), connect: local(22, "2001:db8::1") }],
  ["8080:/run/app.sock", { listen: local(8080), connect: { path: "/run/app.sock" } }],
  ["localhost:8080:/run/app.sock", { listen: local(8080), connect: { path: "/run/app.sock" } }],
  ["/tmp/a:/run/app.sock", { listen: { path: "/tmp/a" }, connect: { path: "/run/app.sock" } }],
  ["/tmp/a:db:5432", { listen: { path: "/tmp/a" }, connect: local(5432, "db") }],
] as const)("-L %s", ([text, expected]) => {
  expect(parseForward(text, "-L")).toEqual(expected);
});

test.for([
  ["0:localhost:22", { listen: local(0), connect: local(22) }],
  ["*:8080:/run/app.sock", { listen: local(8080, ""), connect: { path: "/run/app.sock" } }],
] as const)("-R %s", ([text, expected]) => {
  expect(parseForward(text, "-R")).toEqual(expected);
});

test.for([
  "",
  ":",
  "8080",
  "8080:db",
  "8080:db:0",
  "8080:db:70000",
  "0:db:22",
  "a:b:c:d",
  "1:2:3:4:5",
  "[::1:8080:db:22",
  "/a:/b:/c",
  "8080:db:22:x",
])("-L %j is refused", (text) => {
  expect(() => parseForward(text, "-L")).toThrow(/is not a valid forward/);
});

test.for([
  ["1080", local(1080)],
  ["[::1]:1080", local(1080, "::1")],
  ["*:1080", local(1080, "")],
] as const)("-D %s", ([text, expected]) => {
  expect(parseDynamic(text)).toEqual(expected);
});

test("any text is read or refused in words", () => {
  const text = fc.string({ unit: fc.constantFrom(":", "[", "]", "/", "*", "1", "22", "a", "::1"), maxLength: 12 });
  fc.assert(
    fc.property(text, fc.constantFrom("-L" as const, "-R" as const), (given, option) => {
      try {
        const { listen } = parseForward(given, option);
        expect("path" in listen || listen.port <= 65_535).toBe(true);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
      }
    }),
  );
});
