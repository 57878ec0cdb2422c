import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { hasProgram } from "../../../test/world/has-program.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar-header.ts";

const entry = { path: "var/lib/platform/auth/state.sqlite", mode: 0o100600, uid: 0, gid: 998, size: 3, mtime: 1_790_000_000 };

test("a header has its sum, and its numbers where they belong", () => {
  const header = tarHeader(entry);
  const numbers = ["0000600", "0000000", "0001746", "00000000003", entry.mtime.toString(8)].join("\0");
  expect(header.subarray(100, 147).toString()).toBe(numbers);
  const blank = Buffer.from(header).fill(" ", 148, 156);
  expect(Number.parseInt(header.subarray(148, 154).toString(), 8)).toBe(blank.reduce((sum, byte) => sum + byte, 0));
});

test("an entry of ten gigabytes has its size in binary", () => {
  const header = tarHeader({ ...entry, size: 10_000_000_000 });
  expect(header[124]).toBe(0x80);
  expect(header.readBigUInt64BE(128)).toBe(10_000_000_000n);
});

test("a path that does not fit is refused", () => {
  expect(() => tarHeader({ ...entry, path: `${"a".repeat(101)}` })).toThrow("too long for the archive");
  expect(() => tarHeader({ ...entry, path: `${"a/".repeat(150)}b` })).toThrow("too long for the archive");
});

test.runIf(hasProgram("tar"))("tar reads every path back", () => {
  const part = fc.stringMatching(/^[a-z][a-z0-9.-]{0,40}$/);
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), fc.nat(2000), (parts, size) => {
      const path = parts.join("/");
      const archive = Buffer.concat([tarHeader({ ...entry, path, size }), Buffer.alloc(size, 7), tarPadding(size), tarEnd]);
      const read = spawnSync("tar", ["--numeric-owner", "-tvf", "-"], { input: archive, encoding: "utf8" });
      expect(read.stderr).toBe("");
      expect(read.stdout).toMatch(new RegExp(`^-rw------- 0/998 +${size} .* ${path.replaceAll(".", "\\.")}\n$`));
    }),
    { numRuns: someRuns(20) },
  );
});
