import fc from "fast-check";
import { expect, test } from "vitest";
import { localKeys, strictRepository } from "./zypp.ts";
import { parseLocks, parseSearch, parseSummary } from "./zypper.ts";

const found = `Loading repository data...
Reading installed packages...

S  | Name         | Type    | Version      | Arch   | Repository
---+--------------+---------+--------------+--------+-----------
v  | platform-ent | package | 1.2.0~rc.1-1 | x86_64 | platform
vl | platform-ent | package | 1.1.0-1      | x86_64 | platform
il | platform-ent | package | 1.0.0-1      | x86_64 | platform
`;

test("versions and locks are read from a search", () => {
  expect(parseSearch(found)).toEqual([
    { name: "platform-ent", version: "1.2.0~rc.1", locked: false },
    { name: "platform-ent", version: "1.1.0", locked: true },
    { name: "platform-ent", version: "1.0.0", locked: true },
  ]);
  expect(parseSearch("No matching items found.\n")).toEqual([]);
});

test("sizes are read from a summary", () => {
  const xml = '<install-summary download-size="306792" space-usage-diff="-20" packages-to-change="1">';
  expect(parseSummary(xml)).toEqual({ fetch: 306_792, grow: -20 });
  expect(parseSummary("<stream></stream>")).toBeUndefined();
});

test("locks are listed", () => {
  const xml = `<locks size="2"><lock number="1"><name>platform*</name><type>package</type></lock>
<lock number="2"><name>bash</name><type>package</type></lock></locks>`;
  expect(parseLocks(xml)).toEqual(["platform*", "bash"]);
});

test("the repository is read with every check on, whatever its file contains", () => {
  const text = "[platform]\nname=platform\nbaseurl=https://a.example/yum\nenabled=0\ngpgcheck = 0\npkg_gpgcheck=0\nrepo_gpgcheck=0\n";
  const lines = strictRepository(text).split("\n");
  expect(lines.filter((line) => /enabled|check/.test(line))).toEqual(["enabled=1", "gpgcheck=1", "repo_gpgcheck=1", "pkg_gpgcheck=1"]);
  expect(lines).toContain("baseurl=https://a.example/yum");
  expect(lines[0]).toBe("[platform]");
});

test("only keys on this host are trusted by the updater", () => {
  const text = "gpgkey=file:///etc/pki/rpm-gpg/platform.asc\n  https://a.example/key.asc file:///etc/pki/rpm-gpg/next.asc\nname=x\n";
  expect(localKeys(text)).toEqual(["/etc/pki/rpm-gpg/platform.asc", "/etc/pki/rpm-gpg/next.asc"]);
  expect(localKeys("name=x\n")).toEqual([]);
});

test("any text is read without harm", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      parseSearch(text);
      parseSummary(text);
      parseLocks(text);
      localKeys(strictRepository(text));
    }),
  );
});
