import { describe, expect, test } from "vitest";
import { channelsOf, readChannel } from "./channel.ts";
import { joinChannels, offeredBy } from "./members.ts";
import { releaseText } from "./release-text.ts";

describe("channelsOf", () => {
  test.for([
    ["1.0.0", ["stable/v1", "stable/cloud"]],
    ["17.3.2", ["stable/v17", "stable/cloud"]],
    ["17.3.2+2", ["stable/v17", "stable/cloud"]],
    ["2.0.0~rc.1", []],
  ] as const)("%s is in %j", ([version, expected]) => {
    expect(channelsOf(version, { prereleases: false })).toEqual(expected);
  });

  test("a pre-release is in its channels when it is wanted", () => {
    expect(channelsOf("2.0.0~rc.1", { prereleases: true })).toEqual(["stable/v2", "stable/cloud"]);
  });

  test.for(["", "1", "v1.0.0", "1.0", "../1.0.0", "1.0.0/..", "12345678.0.0", "1.0.0-1"])("%j is refused", (version) => {
    expect(() => channelsOf(version, { prereleases: true })).toThrow(/is not a version/);
  });
});

test.for([
  ["cloud", "stable/cloud"],
  ["stable/cloud", "stable/cloud"],
  ["v2", "stable/v2"],
  ["stable/v2", "stable/v2"],
] as const)("channel %s is %s", ([text, expected]) => {
  expect(readChannel(text)).toBe(expected);
});

test.for(["", "v", "2", "stable", "beta", "v2/../v3"])("channel %j is refused", (text) => {
  expect(() => readChannel(text)).toThrow(/is not a channel/);
});

test("a package keeps the channels that it has when it gets more", () => {
  const first = joinChannels(new Map(), "a.deb", ["stable/v1"]);
  const both = joinChannels(joinChannels(first, "a.deb", ["stable/cloud", "stable/v1"]), "b.deb", ["stable/v1"]);
  expect(offeredBy(both, "stable/v1")).toEqual(["a.deb", "b.deb"]);
  expect(offeredBy(both, "stable/cloud")).toEqual(["a.deb"]);
  expect(offeredBy(first, "stable/cloud")).toEqual([]);
});

test("a Release file vouches for its indexes, from and until when", () => {
  const text = releaseText({
    suite: "stable/v1",
    architectures: ["amd64", "arm64"],
    date: new Date("2026-11-20T16:00:00Z"),
    validUntil: new Date("2026-12-04T16:00:00Z"),
    indexes: [{ path: "main/binary-amd64/Packages", size: 1234, sha256: "ab".repeat(32) }],
  });
  expect(text.split("\n")).toEqual([
    "Origin: platform",
    "Label: platform",
    "Suite: stable/v1",
    "Codename: stable/v1",
    "Date: Fri, 20 Nov 2026 16:00:00 UTC",
    "Valid-Until: Fri, 04 Dec 2026 16:00:00 UTC",
    "Acquire-By-Hash: yes",
    "Architectures: amd64 arm64",
    "Components: main",
    "Description: access platform, stable/v1",
    "SHA256:",
    ` ${"ab".repeat(32)}       1234 main/binary-amd64/Packages`,
    "",
  ]);
});
