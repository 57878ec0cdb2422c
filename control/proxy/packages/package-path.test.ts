import { posix } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parsePackagePath } from "./package-path.ts";

test.for([
  ["apt/dists/stable/v1/InRelease", "apt/dists/stable/v1/InRelease"],
  ["keys/platform.asc", "keys/platform.asc"],
  ["apt/pool/main/p/platform-ent_1.0.0~rc.1%2Bb1_amd64.deb", "apt/pool/main/p/platform-ent_1.0.0~rc.1+b1_amd64.deb"],
  ["a%20b/c..d", "a b/c..d"],
  ["apt/./Packages", "apt/Packages"],
  ["//apt//%2e/Packages", "apt/Packages"],
] as const)("%s names a file", ([path, file]) => {
  expect(parsePackagePath(path)).toBe(file);
});

const bad = [
  "",
  "/",
  "a/",
  "..",
  "../x",
  "a/../b",
  "a/.",
  "./..",
  "a/%2e%2e/b",
  "%2e%2e%2fx",
  "a%2fb",
  "a%5cb",
  "a\\b",
  ".git/config",
  "a/.htaccess",
  "%2ehidden",
  "a%00b",
  "%",
  "%ff",
  "a".repeat(1025),
];
test.for(bad)("%j names none", (path) => {
  expect(parsePackagePath(path)).toBeUndefined();
});

test("no text names a file outside of the folder, or a hidden one", () => {
  const piece = fc.constantFrom("a", "/", "%2f", "%2F", "%5c", "\\", ".", "..", "%2e", "%252e", "%", "%00", "é", "~", ":");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece, { maxLength: 10 }).map((all) => all.join("")),
      ),
      (path) => {
        const file = parsePackagePath(path);
        if (file === undefined) return;
        expect(posix.normalize(file)).toBe(file);
        expect(posix.resolve("/srv/p", file).startsWith("/srv/p/")).toBe(true);
        expect(`/${file}`).not.toContain("/.");
      },
    ),
  );
});
